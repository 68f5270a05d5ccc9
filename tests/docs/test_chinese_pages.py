"""On a Chinese page, whatever is said is said in Chinese: in comments, outputs, listings, figures.

Code itself is the same in both languages, and so are its names, and what Python and PyTorch print.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch
from prose_lines import HAN, ROOT
from prose_lines import SETTINGS as FOUND
from torch import nn

import headwise
from headwise.models import translator
from proseproof.listing_words import passages, shown
from proseproof.page_reader import read
from sitekit import lab_pages

assert FOUND is not None
SETTINGS = FOUND
FOLDER = SETTINGS.languages["zh"]
PAGES = [
    path
    for file in SETTINGS.files()
    if (path := file.relative_to(ROOT).as_posix()).startswith(f"{FOLDER}/")
]


# What is no name in code and is written in Latin letters all the same, with the reason.
EXCEPTIONS = {
    "Adam He Kaiming Xavier": "names of people and methods",
    "PyTorch Python Transformer torchrun gloo nccl": "names of programs",
    "softmax dropout logits autocast Autocast": "Chinese books write them so, and so does our glossary",
    "post pre Post Pre": "of post-LN and pre-LN, as the glossary has them",
    "bos eos pad": "the tokens that begin, end and fill up a sentence",
    "The cat sat mat dog": "words of example sentences",
    "shows hides": "of 'True shows' and '1 hides', which the museum's functions take",
    "Add Norm": "of Add & Norm, as the paper and everybody calls it",
    "scores weights out": "what the code of attention calls its tensors, and so do diagrams",
}
ALLOWED = {word for words in EXCEPTIONS for word in words.split()}

# Pages whose outputs are not the page's own words, with the reason.
QUOTING = {
    "docs/zh/chapters/bpe.md": "pieces of English words, as they were learned from a text",
    "docs/zh/labs/price.py": "a model writes on from prompts, most of them English",
    "docs/zh/proseproof.md": "the block picks lines out of what proseproof reports",
}

# Never the name of something, whatever the code calls its variables.
PLAIN_ENGLISH = {
    *("an", "the", "of", "with", "and", "in", "is", "to", "at", "on"),
    *("for", "from", "by", "or", "not", "as", "all", "each", "no"),
}

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHAPE = re.compile(r"\([\w .,*/+-]*,[\w .,*/+-]*\)")
DOTTED = re.compile(r"\w+(?:\.\w+)+")


@dataclass(frozen=True)
class Said:
    """Words that a reader sees beside the prose, and the line of the page."""

    line: int
    kind: str
    text: str


class Shown:
    """What a page shows beside its prose, and which words are names there."""

    def __init__(self, path: str, root: Path = ROOT) -> None:
        self.path, self.page, self.root = path, read(root, path), root
        codes = [block.code for block in self.page.blocks if block.language == "python"]
        self.words = {word for code in codes for word in words_in_strings(code)}
        self.data = {word for code in codes for word in data_words(code)}
        codes += [shown(SETTINGS, path, listing.spec) for listing in self.page.listings]
        self.names = {name for code in codes for name in names_in(code)}

    def english(self, text: str, kind: str = "") -> list[str]:
        """The words of a text that are neither names nor data; a lone label is no name."""
        text = re.sub(r"<\w+>|\\[nt]", " ", DOTTED.sub(" ", SHAPE.sub(" ", text)))
        names = self.names if kind != "a figure" or re.search(rf"{HAN}|[=(]", text) else set()
        known = (names | ALLOWED | library_words()) - PLAIN_ENGLISH | self.data
        return [word for word in WORD.findall(text) if is_word(word) and word not in known]

    def said(self) -> Iterator[Said]:
        """What is left to translate."""
        for one in self.comments():
            if not re.search(HAN, one.text) and self.english(one.text):
                yield one
        for one in self.figures():
            if self.english(one.text, one.kind):
                yield one
        for one, code in self.outputs() if self.path not in QUOTING else ():
            own = self.words if self.page.is_lab else words_in_strings(code)
            for line in one.text.splitlines():
                # A word that the program itself does not have was printed by Python or a library.
                if own & set(self.english(line)):
                    yield Said(one.line, one.kind, line.strip())

    def comments(self) -> Iterator[Said]:
        """Comments and docstrings, in blocks and in listings."""
        for block in self.page.blocks:
            if block.language == "python":
                for number, text in passages(block.code):
                    yield Said(block.first + number - 1, "a comment", text)
        for listing in self.page.listings:
            for _, text in passages(shown(SETTINGS, self.path, listing.spec)):
                yield Said(listing.line, "a listing", text)
        for plain in self.page.plains:
            for number, line in enumerate(plain.text.splitlines(), plain.line + 1):
                if plain.language != "text" and (match := re.search(r"(?:^|\s)#\s(.+)", line)):
                    yield Said(number, "a comment", match[1])

    def outputs(self) -> Iterator[tuple[Said, str]]:
        """What blocks print, and what the cells of a lab show, each with its code."""
        for block in self.page.blocks:
            if block.output is not None and block.language == "python":
                yield Said(block.output.line, "an output", block.output.text), block.code
        for line, output in self.cells():
            text = output.get("text", output.get("data", {}).get("text/plain", ""))
            if "image/svg+xml" not in output.get("data", {}):
                yield Said(line, "an output", str(text)), ""

    def cells(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """What the cells of a lab show to Chinese readers."""
        if not self.page.is_lab:
            return
        inner = self.path.removeprefix(f"{FOLDER}/")
        with contextlib.suppress(lab_pages.LabError):  # reported where the lab is proved
            lab = lab_pages.load(self.root / self.path, SETTINGS, inner, "zh", None)
            for cell in lab.notebook.cells if lab.notebook else []:
                for output in cell.get("outputs", []):
                    yield lab_pages.line_of(self.page.text, cell.source), output

    def figures(self) -> Iterator[Said]:
        """Labels in figures, and what is read out in their place."""
        for link in self.page.links:
            if link.figure:
                yield Said(link.line, "an alt text", re.sub(r"`[^`]*`|\$[^$]*\$", "", link.text))
                file = (self.root / self.path).parent / link.target
                if file.suffix == ".svg" and file.is_file():
                    yield from labels(link.line, file.read_text(encoding="utf-8"))
        for line, output in self.cells():
            yield from labels(line, output.get("data", {}).get("image/svg+xml", ""))


def labels(line: int, svg: str) -> Iterator[Said]:
    """The words of a drawing."""
    texts = re.findall(r"<(?:text|tspan|title|desc)\b[^<>]*>([^<>]+)", svg)
    for text in [*texts, *re.findall(r'aria-label="([^"]*)"', svg)]:
        yield Said(line, "a figure", unescape(text))


def is_word(word: str) -> bool:
    """False for what is plainly a name, a sign or an abbreviation: W_q, layer1, NaN, LSTM, x."""
    return len(word) > 1 and word.isalpha() and word in (word.lower(), word.capitalize())


def words_in_strings(code: str) -> set[str]:
    """The words in the strings of a program, docstrings aside."""
    tree = ast.parse(code)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        word
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
        for word in WORD.findall(node.value)
    }


def data_words(code: str) -> set[str]:
    """Words of sentences that the program splits or encodes: it works on them, and says nothing."""
    nodes = list(ast.walk(ast.parse(code)))
    found: set[str] = set()
    for node in nodes:
        said = node.value if isinstance(node, ast.Attribute) and node.attr == "split" else None
        if isinstance(said, ast.Constant):
            found |= set(WORD.findall(str(said.value)))
    given = {
        parameter
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "encode"
        for argument in node.args
        for parameter in ast.walk(argument)
    }
    while True:  # back to where the names that are encoded come from
        names = {node.id for node in given if isinstance(node, ast.Name)}
        sources = [
            node.value if isinstance(node, ast.Assign) else node.iter
            for node in nodes
            if isinstance(node, ast.Assign | ast.For) and names & set(names_set_by(node))
        ]
        more = {part for source in sources for part in ast.walk(source)} - given
        if not more:
            break
        given |= more
    texts = (str(node.value) for node in given if isinstance(node, ast.Constant))
    return found | {word for text in texts for word in WORD.findall(text)}


def names_set_by(node: ast.Assign | ast.For) -> Iterator[str]:
    """The names to which an assignment or a loop gives a value."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def names_in(code: str) -> set[str]:
    """The names in a program, and what they convert to and from: additive, in to_additive."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found |= {name for word in WORD.findall(value) for name in parts_of(word)}
    return found


def parts_of(name: str) -> list[str]:
    return [name, re.sub(r"^(?:to|from)_", "", name)]


@functools.cache
def library_words() -> frozenset[str]:
    """What Python, PyTorch and this library call things, and the English of the translator."""
    found = {*translator.TGT_TOKENS, "True", "False", "None", "nan", "inf", "cpu", "cuda", "meta"}
    for home in (torch, nn, nn.functional, torch.Tensor):
        found |= {*dir(home)}
    calls = [getattr(headwise, name) for name in headwise.__all__]
    for one in [*vars(nn).values(), *calls]:
        for call in (one, getattr(one, "forward", None)):
            if callable(call) and (inspect.isclass(call) or inspect.isfunction(call)):
                with contextlib.suppress(ValueError):
                    found |= {*inspect.signature(call).parameters}
    return frozenset(found)


def offences(path: str, root: Path = ROOT) -> list[str]:
    """Where a page speaks English, and with which words."""
    page = Shown(path, root)
    return [
        f"{path}:{one.line}: {one.kind} says {', '.join(words)}: {one.text}"
        for one in page.said()
        if (words := page.english(one.text, one.kind))
    ]


SAMPLE = """
# 页面 {#page}

```python
import torch


def double(x):
    \"\"\"Twice x.\"\"\"
    return 2 * x


words = "a small cat".split()
y = double(torch.ones(2, 3))  # (2, 3)
# what follows is printed
print(f"twice: {y.sum()}", words, y.dtype)  # 打印
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError as error:
    print(error)
```

<!--pytest-codeblocks:expected-output-->

```text
twice: 12.0 ['a', 'small', 'cat'] torch.float32
inconsistent tensor size, expected tensor [2] and src [3]
```

![a picture](x.svg)
"""
DRAWING = (
    '<svg aria-label="图"><title>图</title><text x="1">查询</text><text>wrong side</text></svg>'
)


def test_english_is_found_wherever_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(SAMPLE, encoding="utf-8")
    (tmp_path / "x.svg").write_text(DRAWING, encoding="utf-8")
    assert offences("x.md", tmp_path) == [
        "x.md:9: a comment says Twice: Twice x.",
        "x.md:15: a comment says what, follows, is, printed: what follows is printed",
        "x.md:30: an alt text says picture: a picture",
        "x.md:30: a figure says wrong, side: wrong side",
        "x.md:25: an output says twice: twice: 12.0 ['a', 'small', 'cat'] torch.float32",
    ]


ENCODED = """
kinds = {"river": ["by the river"], "money": ["of money"]}
told = {"own": "not data"}
for kind, group in kinds.items():
    for one in group:
        tokens = model.encode([one, "and so on"])
"""


def test_sentences_that_are_encoded_are_data() -> None:
    assert data_words(ENCODED) == {"river", "by", "the", "money", "of", "and", "so", "on"}


def test_names_data_and_messages_of_libraries_pass(tmp_path: Path) -> None:
    page = SAMPLE.replace("Twice x.", "x 的两倍").replace("what follows is printed", "softmax 之前")
    page = page.replace("twice: ", "两倍：").replace("a picture", "double 的图")
    (tmp_path / "x.md").write_text(page, encoding="utf-8")
    (tmp_path / "x.svg").write_text(DRAWING.replace("wrong side", "W_q"), encoding="utf-8")
    assert offences("x.md", tmp_path) == []


@pytest.mark.parametrize("path", PAGES)
def test_chinese_page_speaks_chinese(path: str) -> None:
    found = offences(path)
    assert not found, "\n" + "\n".join(found)
