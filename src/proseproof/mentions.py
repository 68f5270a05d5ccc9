"""Code that is only mentioned, marked `{.text}`: each name in it has to be the name of something.

A whole span may be an entry of the project's list of words, a file, an address of the site, a
command or a sign of Python. Of anything else every name is looked up: in Python every name, method,
keyword and string, elsewhere every word. A name is known when it is

- known at this place of the page (see `Names.known`), a keyword of Python or a parameter, or
  stands in a fence that is shown and not run;
- the beginning or end of a known name, `from_` or `_mask`, or an axis of `einsum`;
- a module, a program of this environment, an option or another string of the project's packages;
- a setting, a directive, a mark or a language of the pages;
- a word of the list: `num_hiddens = "d2l's name for d_model"` in the file `mentioned`.

Numbers, the letters of an index and `a` in `f(a)` are not looked up. No package is imported that
neither the page nor the project imports.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import inspect
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from token import EXACT_TOKEN_TYPES

from proseproof.commands import BUILT_IN, complaint
from proseproof.messages import Finding
from proseproof.names import Names, is_module
from proseproof.page import WORDS, Page
from proseproof.quoted_code import own_code
from proseproof.settings import Settings
from proseproof.stated_values import Fails

RULE = "text"
# What pages, their fences and their front matter may say to us, and YAML's own words.
OURS = {"wrong", "text", "of", "figure", "silent", "raises", "skip", "shapes", "true", "false"}
OURS |= {*WORDS, "ids", "varies"}
WORD = re.compile(r"[\w./#-]*\w[\w./#-]*")
ADDRESS = re.compile(r"(?P<place>[\w/-]+)\.html(?:#(?P<anchor>[\w-]+))?")
SUBSCRIPTS = re.compile(r"'[a-zA-Z,. ]+->[a-zA-Z. ]*'")  # of einsum: each letter names an axis


class Mentions:
    """Looks names up at one place of a page."""

    def __init__(self, settings: Settings, page: Page, names: Names) -> None:
        self.settings, self.page, self.names = settings, page, names

    def judge(self, text: str) -> str:
        """The rule by which a mention holds; Fails when it names what is not there."""
        text = re.sub(r"^#(!python)? ", "", text)
        if text in self.settings.words or repr(text) in self.names.own.literals:
            return RULE
        if " " not in text and (_is_file(self.settings, self.page, text) or self._address(text)):
            return "path"
        mark = re.fullmatch(r"\{(?P<name>[\w-]+)=(?P<value>.+)\}", text)
        if mark is not None and mark["name"] == "of":
            return self.judge(mark["value"])
        tree = None if mark else _parsed(text)
        if tree is None and _is_program(text.split()[0]):
            if reason := complaint(self.settings.root, text):
                raise Fails("command", reason)
            return "command"
        if not re.search(r"\w", text) and not set(text.split()) <= EXACT_TOKEN_TYPES.keys():
            raise Fails(RULE, "this names nothing")
        for name, known in self._words(text) if tree is None else self._names(tree):
            if not known:
                raise Fails(RULE, f"there is no {name}{self._near(name)}")
        return RULE

    def _address(self, text: str) -> bool:
        """True for the address of a page of the built site, and of a heading on it."""
        match = ADDRESS.fullmatch(text)
        if match is None:
            return False
        for folder in (*self.settings.languages.values(), "docs"):
            for suffix in (".md", ".py"):
                file = self.settings.root / folder / (match["place"] + suffix)
                if file.is_file():
                    anchored = rf"{{[^{{}}\n]*#{match['anchor']}[ }}]"
                    source = file.read_text(encoding="utf-8")
                    return match["anchor"] is None or bool(re.search(anchored, source))
        return False

    def _words(self, text: str) -> Iterator[tuple[str, bool]]:
        """What is not Python, word by word."""
        for word in WORD.findall(text):
            bare = word.strip(".#")
            if re.fullmatch(r"[\d.]+", word):
                continue
            known = self._word(word) or self._word(bare)
            if not known and re.fullmatch(r"\w+(\.\w+)+", bare) and not self._is_in_package(bare):
                known = all(self._word(part) for part in bare.split("."))
            yield word, known

    def _names(self, tree: ast.AST) -> Iterator[tuple[str, bool]]:
        """The names that Python code needs, each with whether it is known."""
        walked = list(ast.walk(tree))
        loaded = {one.id for one in walked if isinstance(one, ast.Name) and _is_loaded(one)}
        bound = {one.arg for one in walked if isinstance(one, ast.arg)}
        for node in walked:
            if isinstance(node, ast.comprehension):
                bound |= set(_names_in(node.target)) & loaded
            elif isinstance(node, ast.Subscript):  # a letter in brackets is an index
                bound |= {name for name in _names_in(node.slice) if len(name) == 1}
            elif isinstance(node, ast.Call):  # and one that is passed stands for anything
                passed = [one.id for one in node.args if isinstance(one, ast.Name)]
                bound |= {name for name in passed if len(name) == 1}
        inner = {id(one.value) for one in walked if isinstance(one, ast.Attribute)}
        for node in walked:
            if isinstance(node, ast.Name) and id(node) not in inner:
                yield node.id, node.id in bound or self._word(node.id)
            elif isinstance(node, ast.Attribute) and id(node) not in inner:
                yield from self._attributes(node, bound)
            elif isinstance(node, ast.keyword) and node.arg:
                yield node.arg, self.names.is_parameter(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                known = repr(node.value) in self.names.code.literals | self.names.own.literals
                yield repr(node.value), known or self._word(node.value)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._imported(node)

    def _attributes(self, node: ast.Attribute, bound: set[str]) -> Iterator[tuple[str, bool]]:
        """`a.b.c` as a whole in a package; of a variable, and of a call's result, one by one."""
        dotted = ast.unparse(node)
        first = dotted.partition(".")[0]
        if re.fullmatch(r"[\w.]+", dotted) and first not in bound:
            known = self._word(dotted)
            if known or self._is_in_package(dotted):
                yield dotted, known
                return
        yield node.attr, self._word(node.attr)
        if isinstance(node.value, ast.Attribute):
            yield from self._attributes(node.value, bound)
        elif isinstance(node.value, ast.Name):
            own = {*self.names.own.names, *self.names.own.keywords} if len(first) > 1 else set()
            yield first, first in bound or self._is_here(first) or first in own

    def _is_in_package(self, dotted: str) -> bool:
        """True for a name in a package, of which everything is known; variables come and go."""
        held = self.names.values.get(dotted.partition(".")[0])
        return inspect.ismodule(held) or (held is None and self.names.is_imported(dotted))

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, bool]]:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if module:
            yield module, self._word(module)
        for alias in node.names:
            name = f"{module}.{alias.name}".strip(".")
            yield name, self._word(name) or (bool(module) and alias.name in self.settings.words)

    def _word(self, word: str) -> bool:
        """True when a word is the name of something; a letter is one of the page or the project."""
        if len(word) == 1 and word.isalpha():
            own = word in self.names.own.names | self.names.own.keywords
            return own or self._is_here(word) or self._is_axis(word)
        if on_disk(self.settings, self.page, word) or keyword.iskeyword(word):
            return True
        if not re.fullmatch(r"[\w.]+", word):
            return False
        if self.names.known(word) or self.names.is_parameter(word) or _is_program(word):
            return True
        if self._is_here(word) or _is_affix(word, self._here):
            return True
        return word in sys.stdlib_module_names or ("." not in word and is_module(word))

    @property
    def _here(self) -> set[str]:
        return {*self.names.values, *self.names.code.names, *self.names.code.keywords}

    def _is_here(self, word: str) -> bool:
        """True for a name of the page, and for a word in a fence that is shown and not run."""
        if word in self._here or word in self.settings.words:
            return True
        shown = " ".join(
            [plain.text for plain in self.page.plains]
            + [block.output.text for block in self.page.blocks if block.output is not None]
        )
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", shown) is not None

    def _is_axis(self, letter: str) -> bool:
        return any(
            letter in literal
            for literal in self.names.code.literals
            if SUBSCRIPTS.fullmatch(literal)
        )

    def _near(self, name: str) -> str:
        own, settings = self.names.own, self.settings
        known = {*self._here, *own.names, *own.keywords, *self.names.beside(name)}
        known |= {*settings.words, *settings.keys, *OURS}
        near = difflib.get_close_matches(name, sorted(known), n=3)
        return f"; near: {', '.join(near)}" if near else ""


def on_disk(settings: Settings, page: Page, word: str) -> bool:
    """True for what the project's files know, so that a kept proof asks again."""
    own = own_code(settings.root, settings.rewrite)
    if word in settings.words or word in settings.keys or word in OURS:
        return True
    if word in own.names or word in own.keywords:
        return True
    if repr(word) in own.literals and not word.isidentifier():
        return True
    if "/" in word or "." in word:
        return _is_file(settings, page, word)
    return _is_affix(word, own.names | own.keywords)


def unused(settings: Settings, pages: list[Page]) -> list[Finding]:
    """Entries of the list of words that no page mentions, or that have no meaning."""
    said = [span.text for page in pages for span in page.spans if span.mark == "text"]
    words = {*said, *(word for text in said for word in re.findall(r"\w+", text))}
    found = []
    for word, meaning in settings.words.items():
        if word not in words:
            message, remedy = f"no page mentions {word}", "remove the entry"
        elif not meaning.strip():
            message, remedy = f"{word} has no meaning", "say what the word means, and whose it is"
        else:
            continue
        text = (settings.root / settings.mentioned).read_text(encoding="utf-8")
        match = re.search(rf"^\W?{re.escape(word)}\W", text, re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        found.append(Finding(settings.mentioned, line, message, remedy=remedy))
    return found


def _is_file(settings: Settings, page: Page, text: str) -> bool:
    root, inner = settings.root, re.sub(r"^(\.\./)+", "", text)
    folders = [root / folder for folder in ("", "docs", *settings.languages.values())]
    places = [(root / page.path).parent / text, *(folder / inner for folder in folders)]
    return bool(re.search(r"\w", text)) and any(place.exists() for place in places)


def _is_affix(word: str, known: set[str]) -> bool:
    """True for the beginning or the end of known names: `from_`, `_mask`."""
    if len(word) < 3 or not (word.startswith("_") or word.endswith("_")):
        return False
    return any(
        one != word and (one.endswith(word) if word[0] == "_" else one.startswith(word))
        for one in known
    )


def _names_in(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _is_loaded(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _is_program(word: str) -> bool:
    """True for a program that comes with Python or this environment, or that every shell has."""
    if not re.fullmatch(r"[a-z][\w-]*", word):
        return False
    return word in (*BUILT_IN, "make") or (Path(sys.executable).parent / word).is_file()


def _parsed(text: str) -> ast.AST | None:
    """Python code as a tree, be it an expression, a statement or the first line of one."""
    for code in (text, text.removeprefix("."), f"{text} pass"):
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(code)
    return None
