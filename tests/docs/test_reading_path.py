"""The reading path: read in order, the chapters use nothing before they have explained it.

A name of the library is explained in the chapter that is called after its module, or else in the
first that quotes its source, or where HOMES says. A page may use it before, in a block, in a
listing or in a sentence, if the section that does so first has a link to where it is explained.
Words of the glossary need no check: at its first use on a page, each is a link to what it means.
"""

from __future__ import annotations

import ast
import importlib
import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from prose_lines import ROOT

from proseproof.listings import resolve
from proseproof.page import Block, Page
from proseproof.page_reader import read

LANGUAGES = ("zh", "en")
PARTS = {  # the anchors on reading.md, and the chapters below their name in the navigation
    anchor: re.findall(r"- (chapters/\w+\.md)\n", section)
    for anchor, section in zip(
        ("new", "today"),
        re.findall(r"^  - \S+:\n((?: +- chapters/\w+\.md\n)+)", (ROOT / "mkdocs.yml").read_text(), re.M),
        strict=True,
    )
}
NAV = [chapter for part in PARTS.values() for chapter in part]
# What is explained in words, and not by the chapter that is called so or quotes it first.
HOMES = {
    "headwise.trace": "reading.md",  # for whoever looks for a mistake; all chapters come after
    "headwise.models.translator": "chapters/overview.md",  # what it is; a lab trains it
    "headwise.models.minilm": "chapters/attention.md",  # what it is; a lab looks at its heads
    "headwise.convert": "chapters/single_head.md",  # from one to the other; pytorch.md quotes it
    "headwise.beam_search": "chapters/choosing.md",  # with an example
    "headwise.cache": "chapters/masks.md",  # while decoding
    "headwise.latent": "chapters/cache.md",  # beside the other ways to save
    "headwise.beam_search": "chapters/choosing.md",  # the last way to choose
    "headwise.models.smollm2": "labs/price.py",  # which has all of it on one page
}


class Use(NamedTuple):
    """A name of the library on a page: where, and the module that defines it."""

    line: int
    module: str
    name: str


def imported(code: str) -> Iterator[tuple[int, str, str]]:
    """Each name that the code imports from the library: its line, its module, the name."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "headwise":
            for alias in node.names:
                yield node.lineno, *defined(str(node.module), alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "headwise":
                    yield node.lineno, alias.name, ""


def assigned(block: Block) -> set[str]:
    """The page's own names, of which one may also be a name of the library: `causal`."""
    names = (node for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def defined(module: str, name: str) -> tuple[str, str]:
    """The module that defines what one imports from here, and its name there; "" for a module."""
    found = getattr(importlib.import_module(module), name, None)
    if found is None or isinstance(found, ModuleType):
        return f"{module}.{name}", ""
    return getattr(found, "__module__", module), name


def is_public(module: str) -> bool:
    return module.startswith("headwise.") and "._" not in module


def names_of(chapters: list[str]) -> dict[str, str]:
    """The functions and classes of the modules that chapters are called after, by name."""
    found = {}
    for stem in (Path(chapter).stem for chapter in chapters):
        if (ROOT / f"src/headwise/{stem}.py").exists():
            home = importlib.import_module(f"headwise.{stem}")
            for name, one in vars(home).items():
                if name != stem and is_public(getattr(one, "__module__", None) or ""):
                    found[name] = one.__module__
    return found


NAMES = names_of(NAV)


def uses(root: Path, page: Page) -> Iterator[Use]:
    """What a page uses of the library: in its blocks, in its listings and in its sentences."""
    for block in page.blocks:
        if block.language == "python":
            for line, module, name in imported(block.code):
                yield Use(block.first + line - 1, module, name)
    for listing in page.listings:
        path, _, name = listing.spec.partition(":")
        source = (root / path).read_text()
        yield Use(listing.line, module_of(path), name.partition(".")[0])
        words = set(re.findall(r"\w+", resolve(root, listing.spec)))
        for _, module, called in imported(source):
            if called in words and is_public(module):
                yield Use(listing.line, module, called)
    own = {name for block in page.blocks if block.language == "python" for name in assigned(block)}
    for span in page.spans:
        name = re.split(r"\W", span.text, maxsplit=1)[0]
        if re.match(r"\w+=(?!=)", span.text):
            continue  # an argument, whatever else is called so
        if name in NAMES and name not in own and span.mark != "wrong":
            yield Use(span.line, NAMES[name], name)


def module_of(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def homes(root: Path, folder: str, chapters: list[str]) -> dict[tuple[str, str], str]:
    """The chapter that quotes a name first."""
    found: dict[tuple[str, str], str] = {}
    for chapter in chapters:
        for listing in read(root, f"{folder}/{chapter}").listings:
            path, _, name = listing.spec.partition(":")
            found.setdefault((module_of(path), name.partition(".")[0]), chapter)
    return found


def home_of(use: Use, chapters: list[str], quoted: dict[tuple[str, str], str]) -> str:
    """The page that explains a name; nothing if there is none."""
    named = f"chapters/{use.module.rpartition('.')[2]}.md"
    if use.module in HOMES:
        return HOMES[use.module]
    return named if named in chapters else quoted.get((use.module, use.name), "")


def section(page: Page, line: int) -> tuple[int, int]:
    """The first and the last line of the section of level 2 around this line."""
    starts = [1, *(one.line for one in page.headings if one.level == 2), 10**6]
    first = max(start for start in starts if start <= line)
    return first, min(start for start in starts if start > first) - 1


def linked(page: Page, chapter: str, line: int) -> set[str]:
    """The pages to which the section around this line has a link."""
    first, last = section(page, line)
    folder = posixpath.dirname(chapter)
    return {
        posixpath.normpath(posixpath.join(folder, link.target.partition("#")[0]))
        for link in page.links
        if first <= link.line <= last
    }


def too_early(root: Path, folder: str, chapters: list[str]) -> list[str]:
    """Where a chapter uses what a later page explains, and does not say where."""
    found = []
    quoted = homes(root, folder, chapters)
    for place, chapter in enumerate(chapters):
        path = f"{folder}/{chapter}"
        page, told = read(root, path), ["reading.md", *chapters[: place + 1]]
        for use in sorted(set(uses(root, page))):
            name = f"{use.module}.{use.name}".rstrip(".")
            home = home_of(use, chapters, quoted)
            if not home:
                found.append(f"{path}:{use.line}: no page explains {name}: say in HOMES which")
            elif home not in told:
                told.append(home)  # once is enough
                if home not in linked(page, chapter, use.line):
                    found.append(f"{path}:{use.line}: {name} is explained in {home}: link to it")
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_used_before_it_is_explained(language: str) -> None:
    found = too_early(ROOT, f"docs/{language}", NAV)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("chapter", NAV)
def test_chapter_needs_earlier_ones_alone(chapter: str) -> None:
    for language in LANGUAGES:
        page = read(ROOT, f"docs/{language}/{chapter}")
        needed = {one for one in linked(page, chapter, 1) if one.startswith("chapters/")}
        assert needed <= set(NAV[: NAV.index(chapter)]), page.path


@pytest.mark.parametrize(("chapter", "after"), list(pairwise(NAV)))
def test_chapter_leads_to_the_one_after_it(chapter: str, after: str) -> None:
    for language in LANGUAGES:
        page = read(ROOT, f"docs/{language}/{chapter}")
        line = next(one.line for one in page.headings if one.anchor == "next")
        assert after in linked(page, chapter, line), f"{page.path}:{line}"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_path_through_a_part_is_the_order_of_its_chapters(language: str, part: str) -> None:
    page = read(ROOT, f"docs/{language}/reading.md")
    lines = [one.line for one in page.headings]
    first = next(one.line for one in page.headings if one.anchor == part)
    last = min(line for line in lines if line > first)
    named = [link.target for link in page.links if first < link.line < last]
    assert [one.partition("#")[0] for one in named] == PARTS[part]


# A made-up book of two chapters, of which the second explains masks.


def book(root: Path, first: str) -> list[str]:
    (root / "docs/chapters").mkdir(parents=True)
    (root / "docs/chapters/attention.md").write_text(f"# One {{#one}}\n\n{first}")
    (root / "docs/chapters/masks.md").write_text("# Two {#two}\n\nWords.\n")
    return too_early(root, "docs", ["chapters/attention.md", "chapters/masks.md"])


BLOCK = "```python\nfrom headwise import causal_mask\n```\n"
LISTING = '```python title="src/headwise/x.py"\n--8<-- "src/headwise/x.py:f"\n```\n'


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        "`causal_mask(5)` is a table.\n",
        f"## A {{#a}}\n\n[m](masks.md)\n\n## B {{#b}}\n\n{BLOCK}",
    ],
)
def test_name_that_comes_too_early_is_caught(tmp_path: Path, text: str) -> None:
    (one,) = book(tmp_path, text)
    assert "headwise.masks.causal_mask is explained in chapters/masks.md: link to it" in one


@pytest.mark.parametrize(
    "text",
    [f"See [masks](masks.md#causal).\n\n{BLOCK}", BLOCK.replace("causal_mask", "ParameterHead")],
)
def test_name_with_a_link_or_without_a_page_is_told_apart(tmp_path: Path, text: str) -> None:
    found = book(tmp_path, text)
    assert [one.partition(": ")[2] for one in found] == (
        ["no page explains headwise.single_head.ParameterHead: say in HOMES which"]
        if "ParameterHead" in text
        else []
    )


def test_first_use_is_the_one_that_counts(tmp_path: Path) -> None:
    later = f"## A {{#a}}\n\n{BLOCK}\n## B {{#b}}\n\nSee [masks](masks.md).\n\n{BLOCK}"
    (one,) = book(tmp_path, later)
    assert one.startswith("docs/chapters/attention.md:6: ")


def test_name_inside_a_listing_is_caught(tmp_path: Path) -> None:
    (tmp_path / "src/headwise").mkdir(parents=True)
    source = "from headwise.masks import causal_mask\n\n\ndef f():\n    return causal_mask(5)\n"
    (tmp_path / "src/headwise/x.py").write_text(source)
    (one,) = book(tmp_path, LISTING)
    assert "headwise.masks.causal_mask is explained in chapters/masks.md" in one
