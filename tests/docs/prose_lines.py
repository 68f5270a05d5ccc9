"""The pages as they are read: every heading, paragraph and table cell, with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proseproof.page_fences import FENCE
from proseproof.page_prose import LINK, SPAN
from proseproof.settings import Settings

ROOT = Path(__file__).parents[2]
HAN = r"[\u3400-\u9fff]"
SHAPE = r"\((?=[^()]*[_\d])[\w ]+,[\w, ]+\)"
CODE = r"\ue000-\uefff"  # what stands in for a code span, a formula, a tag or an address


@dataclass(frozen=True)
class Line:
    """A heading, a paragraph or a table cell as it is read, with code and formulas stood in for."""

    path: str
    number: int
    text: str
    code: tuple[str, ...] = ()

    def shown(self, text: str) -> str:
        """The text with its code and formulas put back."""
        return re.sub(f"[{CODE}]", lambda match: self.code[ord(match[0]) - 0xE000], text)

    def says(self, found: str, wanted: str) -> str:
        """What to tell the author."""
        return (
            f"{self.path}:{self.number}: there stands {self.shown(found)!r}, "
            f"there should stand {self.shown(wanted)!r}"
        )


def read_lines(path: str, text: str) -> Iterator[Line]:
    """What a reader reads on a page or a lab, without code, outputs, comments and link targets."""
    if path.endswith(".py"):
        cells = re.split(r"^(?=# %%)", text, flags=re.MULTILINE)
        text = "".join(
            re.sub(r"^# ?(?:%%.*)?", "", cell, flags=re.MULTILINE)
            if "[markdown]" in cell.partition("\n")[0] or not cell.startswith("# %%")
            else "\n" * cell.count("\n")
            for cell in cells
        )
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(
        r"\A---\n.*?^---$",
        lambda match: re.sub(r"^(?:description: (.*)|.*)$", r"\1", match[0], flags=re.MULTILINE),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif match:
            fence = match["ticks"]
        elif line.strip() == "$$":
            fence = "$$"
        elif line.strip():
            yield from _parts(path, number, line)


def _parts(path: str, number: int, line: str) -> Iterator[Line]:
    code: list[str] = []

    def hide(match: re.Match[str]) -> str:
        code.append(match[0])
        return chr(0xE000 + len(code) - 1)

    for hidden in (SPAN, r"(?<!\\)\$[^$]+\$", r"<[^<>]+>", SHAPE):
        line = re.sub(hidden, hide, line)
    while LINK.search(line):
        line = LINK.sub(lambda match: match["text"], line)
    line = re.sub(r"https?://[^\s，。）]+", hide, line)
    line = re.sub(r"\s*\{[^{}]*\}\s*$", "", line)
    line = re.sub(r'^\s*(?:\?\?\?\+?|!!!|===)[ \w]*(?:"(.*)")?\s*$', r"\1", line)
    line = re.sub(r"^\s*(?:#+|>|[-*+]|\d+[.)])\s", "", line).strip()
    head = re.match(r"\*\*[^*]+[^\w*]\*\* ", line)  # **A run-in heading.** And what follows.
    if head:
        parts = [head[0], line[head.end() :]]
    else:
        parts = line.strip("|").split("|") if line[:1] == "|" else [line]
    for part in parts:
        if part.strip(" :-"):
            yield Line(path, number, part.replace("*", "").strip(), tuple(code))


SETTINGS = Settings.load(ROOT)
assert SETTINGS is not None
FILES = {
    file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in SETTINGS.files()
}
LINES = [line for path, text in FILES.items() for line in read_lines(path, text)]
