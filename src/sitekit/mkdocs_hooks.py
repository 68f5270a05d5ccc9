"""The MkDocs hooks that tie the parts together and say what is wrong, with file and line."""

from __future__ import annotations

import logging
import os
import re
import subprocess
from collections.abc import Callable
from copy import copy
from html import escape
from pathlib import Path
from typing import Any, Literal

import mkdocs.utils
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import CombinedEvent, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from proseproof import report
from proseproof.listing_words import shown
from proseproof.listings import ListingError
from proseproof.settings import Settings, SettingsError
from sitekit import (
    badge,
    formulas,
    glossary,
    inline_code,
    inline_figures,
    instruments,
    lab_pages,
    notebooks,
    search_index,
    verified,
)

log = get_plugin_logger("sitekit")

_INCLUDE = re.compile(r'^(?P<indent>[ \t]*)--8<-- "(?P<spec>[^"]+)"[ \t]*$', re.M)
_SUBJECT = re.compile(
    r"""(?<=[^\s`]`)\{:? ?(?P<marks>[^{}\n]*?) ?\bof=(?:"[^"]*"|'[^']*'|[^\s{}]+) ?\}"""
)
_BAD_LINK = re.compile(
    r"Doc file '(?P<doc>.+?)' contains an? .*?link '(?P<link>.+?)',? ?(?P<why>.*)"
)
_DOWNLOAD = {"zh": "下载为 .ipynb 笔记本", "en": "Download as an .ipynb notebook"}
_COLAB = {"zh": "在 Colab 中打开", "en": "Open in Colab"}
_UNNAMED = {  # parts of the theme that a screen reader would meet without a name
    'data-md-component="search" role="dialog"': {"zh": "搜索", "en": "Search"},
}
_BROKEN = {"zh": "这一页有问题", "en": "This page has a problem"}
_MADE = {
    "zh": "本页的结果因机器而异。记录于 {date}：{processor}，{cores} 核，torch {torch}。",
    "en": "Results on this page depend on the machine. "
    "Recorded on {date}: {processor}, {cores} cores, torch {torch}.",
}
_RUNNING = {
    "zh": "代码改过了，正在后台运行。改过的单元等跑完再显示结果。",
    "en": "The code was edited and is running in the background. Edited cells show their results "
    "when it is done.",
}


def without_subjects(markdown: str) -> str:
    """A page without what its numbers and shapes are said of, which is for the proofs alone.

    Markdown must not see it: between two `_` in such expressions everything would be slanted.
    """
    return _SUBJECT.sub(lambda match: f"{{{match['marks']}}}" * bool(match["marks"]), markdown)


class Site:
    """Listings, formulas, labs and one search index a language; problems stop a build."""

    def __init__(self) -> None:
        self.command = "build"
        self.problems: list[tuple[str, int, str]] = []
        self.lab_pages: dict[str, lab_pages.Lab] = {}
        self.runner: lab_pages.Runner | None = None
        self.notebooks: dict[str, notebooks.Notebook] = {}
        self.characters: set[str] = set()
        self.indexes: dict[Path, str] = {}
        self.i18n: Any = None
        self.report: report.Report | None = None
        self.rendered: dict[Any, dict[str, Any]] = {}
        self.entries: dict[Any, list[dict[str, Any]]] = {}
        self.glossaries: dict[str, glossary.Glossary] = {}

    # -- problems ------------------------------------------------------------------------------

    def problem(self, path: str, line: int, message: str) -> None:
        """Note what is wrong; a build stops with it at the end, a served page shows it."""
        found = (path, line, message)
        if found not in self.problems:
            self.problems.append(found)
            if self.command == "serve":  # a build lists them all at its end
                log.error(f"{path}:{line}: {message}")

    def _catch_bad_link(self, record: logging.LogRecord) -> bool:
        """Turn MkDocs' warning of a bad link into a problem that names the line."""
        match = _BAD_LINK.search(record.getMessage())
        if match is None:
            return True
        path = Path(self.docs_dir, match["doc"])
        line = lab_pages.line_of(path.read_text(encoding="utf-8"), f"({match['link']}")
        self.problem(f"docs/{match['doc']}", line, f"link to '{match['link']}', {match['why']}")
        return False

    # -- the build, in the order in which MkDocs calls ------------------------------------------

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        self.command = command
        # static-i18n makes its own File objects: without this a lab would be copied, not rendered.
        if ".py" not in mkdocs.utils.markdown_extensions:
            extensions: Any = (*mkdocs.utils.markdown_extensions, ".py")
            mkdocs.utils.markdown_extensions = extensions
        # Dates in the sitemap are the commit's, so that two builds of one commit are the same.
        if "SOURCE_DATE_EPOCH" not in os.environ:
            git = subprocess.run(
                ["git", "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False
            )
            os.environ["SOURCE_DATE_EPOCH"] = git.stdout.strip() or "0"
        for name in ("mkdocs.structure.pages", "mkdocs.structure.nav"):
            links = logging.getLogger(name)
            links.addFilter(self._catch_bad_link)
            links.setLevel(logging.WARNING)  # --quiet hides warnings; a bad link is no less bad

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        self.root = Path(config.config_file_path).parent
        try:
            self.settings = Settings.load(self.root) or Settings(self.root)
        except SettingsError as error:
            raise PluginError(str(error)) from None
        self.docs_dir = config.docs_dir
        self.i18n = config.plugins["i18n"]
        if not self.i18n.building:
            self.problems.clear()
            self.characters.clear()
            stored = self.root / self.settings.report
            self.report = report.load(stored) if stored.exists() else None
        if self.command == "serve" and self.runner is None:
            self.runner = lab_pages.Runner(self.root)
        self._index_once(config.plugins["material/search"])
        return config

    def _index_once(self, plugin: Any) -> None:
        """Make the search index remember a page's entries for as long as its text is the same."""
        index = plugin.search_index
        index._segment_chinese = str  # the theme would cut Chinese words apart, if it has jieba
        add = index.add_entry_from_context

        def remembered(page: Page) -> None:
            key = (page.url, page.content, str(page.title), repr(page.meta.get("search")))
            if key not in self.entries:
                before = len(index.entries)
                whole, page.content = page.content, search_index.without_marks(page.content or "")
                add(page)
                page.content = whole
                for entry in index.entries[before : before + 1]:
                    about = [(page.url, page.meta.get("description", ""))]
                    entry["links"] = about + list(search_index.links(whole or "", page.url))
                self.entries[key] = [dict(entry) for entry in index.entries[before:]]
            else:
                index.entries.extend(dict(entry) for entry in self.entries[key])

        index.add_entry_from_context = remembered

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        names = {f.src_uri for f in files if f.src_uri.endswith((".md", ".py"))}
        self.glossaries.clear()
        for name in sorted(names):
            language, _, rest = name.partition("/")
            other = {"zh": "en", "en": "zh"}.get(language)
            if other and f"{other}/{rest}" not in names:
                self.problem(f"docs/{name}", 1, f"has no counterpart docs/{other}/{rest}")
            if rest == "glossary.md":
                text = Path(config.docs_dir, name).read_text(encoding="utf-8")
                try:
                    self.glossaries[language] = glossary.read(text)
                except ValueError as error:
                    self.problem(f"docs/{name}", 1, str(error))
        for path, line, message in instruments.problems(Path(config.docs_dir)):
            self.problem(path, line, message)
        return files

    @event_priority(-50)  # after mkdocs-jupyter has put its own renderer on the page
    def on_pre_page(self, page: Page, *, config: MkDocsConfig, files: Files) -> Page:
        page.__dict__.pop("render", None)
        page.render = self._once(page)  # type: ignore[method-assign,assignment]
        return page

    def _once(self, page: Page) -> Callable[[MkDocsConfig, Files], None]:
        """A renderer that remembers: while serving, an edit to one page renders that page alone."""
        kept = ("content", "toc", "_title_from_render", "present_anchor_ids", "links_to_anchors")

        def render(config: MkDocsConfig, files: Files) -> None:
            name = page.file.src_uri
            language, _, rest = name.partition("/")
            words = self.glossaries.get(language) if rest != "glossary.md" else None
            # Whether a link leads somewhere depends on which files there are.
            key = (name, page.markdown, frozenset(files.src_uris), words)
            if key not in self.rendered:
                found = len(self.problems)
                if words:  # this page's links are not the next one's, so they get a copy
                    config = copy(config)
                    linker = words.extension(name)
                    config["markdown_extensions"] = [*config.markdown_extensions, linker]
                Page.render(page, config, files)
                if len(self.problems) == found:  # what is wrong is to be said again
                    self.rendered[key] = {part: getattr(page, part, None) for part in kept}
                return
            for part, value in self.rendered[key].items():
                setattr(page, part, value)
            links = page.links_to_anchors or {}
            page.links_to_anchors = {
                file: anchors
                for old, anchors in links.items()
                if (file := files.get_file_from_path(old.src_uri))
            }

        return render

    def on_page_read_source(self, *, page: Page, config: MkDocsConfig) -> str | None:
        name = page.file.src_uri
        if not name.endswith(".py"):
            return None
        path = Path(config.docs_dir, name)
        language, _, inner = name.partition("/")
        try:
            lab = lab_pages.load(path, self.settings, inner, language, self.runner)
        except lab_pages.LabError as error:
            self.problem(f"docs/{name}", error.line, str(error))
            lab = lab_pages.Lab(f"# {path.stem}\n")
        self.lab_pages[name] = lab
        self.notebooks[name] = lab.notebook
        return lab.markdown

    def on_serve(self, server: Any, *, config: MkDocsConfig, builder: Any) -> Any:
        # A lab that was edited runs in the background: its page is built again when it is done.
        folder = self.root / lab_pages.RUNS
        folder.mkdir(parents=True, exist_ok=True)
        server.watch(str(folder))
        return server

    def on_shutdown(self) -> None:
        if self.runner:
            self.runner.stop()

    def on_page_markdown(
        self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files
    ) -> str:
        name = page.file.src_uri

        def listing(match: re.Match[str]) -> str:
            try:
                text = shown(self.settings, f"docs/{name}", match["spec"])
            except ListingError as error:
                source = Path(config.docs_dir, name).read_text(encoding="utf-8")
                said = ": ".join(filter(None, (str(error), error.remedy, error.detail)))
                self.problem(f"docs/{name}", lab_pages.line_of(source, match[0]), said)
                return match[0]
            return "\n".join(match["indent"] + line if line else "" for line in text.splitlines())

        markdown = without_subjects(_INCLUDE.sub(listing, markdown))
        if name not in self.lab_pages:
            self.notebooks[name] = notebooks.from_page(markdown)
        if verified.PLACE in markdown:
            markdown = markdown.replace(verified.PLACE, verified.overview(self.report, name[:2]))
        return markdown

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        language = page.file.src_uri.partition("/")[0]
        html = inline_figures.inline(html, Path(config.docs_dir, language))
        html = inline_code.keep_words(html)
        html, characters = formulas.draw(html)
        self.characters |= characters
        page.meta["formulas"] = bool(characters)
        if lab := self.lab_pages.get(page.file.src_uri):
            html = re.sub(
                r'<div data-figure="(\d+)"></div>', lambda m: lab.figures[int(m[1])], html
            )
        # What scrolls sideways has to be reachable from the keyboard.
        return html.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')

    def on_post_template(self, output: str, *, template_name: str, config: MkDocsConfig) -> str:
        # Both languages write to one 404.html. The Chinese one stays there: see its template.
        if template_name == "404.html" and config.theme["language"] == "en":
            output = _mend(output, "en")
            mkdocs.utils.write_file(output.encode(), str(Path(config.site_dir, "en", "404.html")))
            return ""
        return _mend(output, "zh") if template_name == "404.html" else output

    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str:
        if notebook := self.notebooks.get(page.file.src_uri):
            target = Path(page.file.abs_dest_path).with_suffix(".ipynb")
            text = notebooks.for_readers(notebook, page.canonical_url or "", config.repo_url or "")
            mkdocs.utils.write_file(text.encode(), str(target))
        return _mend(self._under_title(output, page, config), config.theme["language"])

    def _under_title(self, output: str, page: Page, config: MkDocsConfig) -> str:
        """The page, with its proof under its title, and with its notebook."""
        name = page.file.src_uri
        language, _, rest = name.partition("/")
        text = Path(config.docs_dir, name).read_text(encoding="utf-8")
        report_page = "../" * rest.count("/") + "verified.html"
        line = badge.badge(self.report, f"docs/{name}", text, language, report_page)
        if (lab := self.lab_pages.get(name)) and lab.made:
            line += f'<p class="proved">{_MADE[language].format(**lab.made)}</p>'
        if lab and lab.is_running:
            line += f'<p class="proved">{_RUNNING[language]}</p>'
        if self.notebooks.get(name):
            link = f'<a class="download" href="{Path(name).stem}.ipynb" download>'
            line += f"{link}{_DOWNLOAD[language]}</a>"
            # Colab reads notebooks from a branch: the one that the built site is pushed to.
            github = r"https://github\.com/([\w.-]+/[\w.-]+?)/?"
            if repository := re.fullmatch(github, config.repo_url or ""):
                place = f"{repository[1]}/blob/gh-pages/{page.url.removesuffix('.html')}.ipynb"
                colab = f"https://colab.research.google.com/github/{place}"
                line += f'<a class="download" href="{colab}">{_COLAB[language]}</a>'
        return output.replace("</h1>", "</h1>" + line, 1)

    def _own_search_index(self, config: MkDocsConfig) -> None:
        """Keep this language's part of the search index, with addresses as seen from its root."""
        plugin: Any = config.plugins["material/search"]
        language = self.i18n.current_language
        prefix = "" if language == "zh" else f"{language}/"
        known = search_index.Words.load(Path(config.docs_dir, "search.toml"))
        if language in self.glossaries:
            known.add(self.glossaries[language])
        data = search_index.index(plugin.search_index.entries, language, known)
        home = Path(config.site_dir, prefix)
        self.indexes[home / search_index.SECTIONS] = data
        self.indexes[home / "search" / "search_index.json"] = search_index.for_theme(
            language, prefix
        )

    @event_priority(50)  # before static-i18n starts to build the next language inside its own
    def _language_done(self, *, config: MkDocsConfig) -> None:
        self._own_search_index(config)
        # Here, because a strict build stops at its first warning once this event is over.
        if self.problems and self.command != "serve" and self._is_last():
            lines = "\n".join(f"  {path}:{line}: {why}" for path, line, why in self.problems)
            raise PluginError(f"The site was not built right:\n{lines}")

    def _is_last(self) -> bool:
        """True while the last language is being built, when all problems are known."""
        return bool(self.i18n.current_language == list(self.i18n.build_languages)[-1])

    @event_priority(-200)  # after static-i18n has built all languages and written its joint index
    def _site_done(self, *, config: MkDocsConfig) -> None:
        if self.i18n.building:
            return
        for file, data in self.indexes.items():
            mkdocs.utils.write_file(data.encode(), str(file))
        if self.characters:
            target = Path(config.site_dir, "assets", "math.woff2")
            mkdocs.utils.write_file(formulas.font(frozenset(self.characters)), str(target))
        for path, line, why in self.problems:
            self._show(config, path, f"{path}:{line}: {why}")

    on_post_build = CombinedEvent(_language_done, _site_done)

    def _show(self, config: MkDocsConfig, path: str, message: str) -> None:
        """Put the message on the served page, above its text."""
        language, _, rest = path.removeprefix("docs/").partition("/")
        prefix = "" if language == "zh" else language
        target = Path(config.site_dir, prefix, rest).with_suffix(".html")
        if target.exists():
            title = f'<p class="admonition-title">{_BROKEN[language]}</p>'
            note = f'<div class="admonition failure">{title}<p>{escape(message)}</p></div>'
            text = target.read_text(encoding="utf-8")
            text = re.sub(r"(<article[^>]*>)", lambda m: m[1] + note, text, count=1)
            target.write_text(text, encoding="utf-8")


def _mend(page: str, language: str) -> str:
    """The theme's page, with what its templates leave open."""
    if language == "en":  # where its script looks for this language's search index
        page = re.sub(r'("base": "[^"]*?)/?"', r'\1/en/"', page, count=1)
    page = search_index.with_own_worker(page)
    for there, missing in _UNNAMED.items():
        page = page.replace(there, f'{there} aria-label="{missing[language]}"')
    return page


# MkDocs looks for functions of these names here: see `hooks` in mkdocs.yml.
_site = Site()
on_startup, on_config, on_files = _site.on_startup, _site.on_config, _site.on_files
on_pre_page, on_page_read_source = _site.on_pre_page, _site.on_page_read_source
on_serve, on_shutdown = _site.on_serve, _site.on_shutdown
on_page_markdown, on_page_content = _site.on_page_markdown, _site.on_page_content
on_post_page, on_post_template, on_post_build = (
    _site.on_post_page,
    _site.on_post_template,
    _site.on_post_build,
)
