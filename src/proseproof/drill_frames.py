"""Changes of the drill to a page's frame and words: fences, anchors, links, plain sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from proseproof.drill_changes import Author, Change
from proseproof.drill_edits import lines_with, misspelt, other_digit
from proseproof.page import WORDS, Block, Listing, Page, Plain

WORD = re.compile(r"(?<![\w\\])(?:[^\W\d_]{2,}|\d+)(?!\w)")


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change to what frames the code, and where its candidates come from."""
    return {
        "fence's info string": partial(_fences, author),
        "heading's anchor": partial(_anchors, author),
        "link": partial(_links, author),
        "sentence in one language": partial(_sentences, author),
        "words of a plain fence": partial(_plain_fences, author),
        "words of the front matter": partial(_front_matter, author),
        "words beside a fence's language": partial(_info_strings, author),
    }


def _in_one_language(author: Author) -> Iterator[Page]:
    """The pages that have a translation."""
    for page in author.pages:
        if author.project.other(page.path) is not None:
            yield page


def _plain_fences(author: Author) -> Iterator[Change]:
    kind = "words of a plain fence"
    for page in _in_one_language(author):
        for plain in page.plains:
            for line in range(plain.line + 1, plain.line + 1 + plain.text.count("\n")):
                yield from _word(author, kind, page, line, 0)


def _front_matter(author: Author) -> Iterator[Change]:
    kind = "words of the front matter"
    for page in _in_one_language(author):
        for line, text in enumerate(page.text.split("\n"), 1):
            key = re.match(r"(?:# )?(\w+):\s", text)
            if line > 1 and re.fullmatch(r"(?:# )?---", text):
                break
            if key is not None and key[1] in WORDS and key[1] in page.front:
                yield from _word(author, kind, page, line, key.end())


def _info_strings(author: Author) -> Iterator[Change]:
    kind = "words beside a fence's language"
    for page in _in_one_language(author):
        fences: list[Block | Listing | Plain] = [*page.blocks, *page.listings, *page.plains]
        for fence in fences:
            text = page.text.split("\n")[fence.line - 1]
            for value in re.finditer(r'(?:title|hl_lines)="([^"]*)', text):
                yield from _word(author, kind, page, fence.line, value.start(1), value.end(1))


def _word(
    author: Author, kind: str, page: Page, line: int, start: int, end: int | None = None
) -> Iterator[Change]:
    """One word of a line changed, or one number."""
    lines = page.text.split("\n")
    text = lines[line - 1]
    words = list(WORD.finditer(text, start, len(text) if end is None else end))
    if words:
        word = author.chance.choice(words)
        new = other_digit(word[0], author.chance) or word[0][::-1] + word[0][0]
        lines[line - 1] = text[: word.start()] + new + text[word.end() :]
        what = f"{word[0]} → {new} in {text.strip()}"
        yield Change(kind, page.path, line, what, {page.path: "\n".join(lines)}, True)


def _fences(author: Author) -> Iterator[Change]:
    for page in author.pages:
        for block in page.blocks:
            if page.is_lab or block.language != "python":
                continue
            line = page.text.split("\n")[block.line - 1]
            new = author.chance.choice(
                [
                    "```py",
                    "```Python",
                    "``` python",
                    "```{.python}",
                    "```pycon",
                    "```",
                    "~~~python",
                ]
            )
            text = lines_with(page.text, [(block.line, "```python", new)])
            if text is not None:
                what = f"{line.strip()} → {new}"
                yield Change("fence's info string", page.path, block.line, what, {page.path: text})


def _anchors(author: Author) -> Iterator[Change]:
    for page in author.pages:
        if author.settings.language(page.path) is None:
            continue
        for heading in page.headings:
            new = misspelt(heading.anchor, author.chance)
            if new is None:
                continue
            edit = (heading.line, f"{{#{heading.anchor}}}", f"{{#{new}}}")
            text = lines_with(page.text, [edit])
            if text is not None:
                what = f"#{heading.anchor} → #{new}"
                yield Change(
                    "heading's anchor", page.path, heading.line, what, {page.path: text}, True
                )


def _links(author: Author) -> Iterator[Change]:
    for page in author.pages:
        for link in page.links:
            new = misspelt(link.target, author.chance)
            outside = re.match(r"[a-z]+:", link.target)
            if new is None or (outside and author.settings.language(page.path) is None):
                continue
            text = lines_with(page.text, [(link.line, f"({link.target})", f"({new})")])
            if text is not None:
                what = f"{link.target} → {new}"
                yield Change("link", page.path, link.line, what, {page.path: text}, True)


def _sentences(author: Author) -> Iterator[Change]:
    for page in author.pages:
        if author.settings.language(page.path) is None:
            continue
        for number, line in enumerate(page.text.split("\n"), 1):
            inside = any(
                block.line <= number <= (block.output.last + 1 if block.output else block.last)
                for block in page.blocks
            )
            words = re.findall(r"(?<![\w`{#.(/])[^\W\d_]{2,}(?![\w`}./])", line)
            plain = line.lstrip("# ").strip()
            skip = inside or not words or plain.startswith(("|", "<", "!", "`", "-", "%", ">"))
            if skip or ":" in line[:14] or "](" in line:
                continue
            word = author.chance.choice(words)
            text = lines_with(page.text, [(number, word, word[::-1] + word[0])])
            if text is not None and text != page.text:
                yield Change(
                    "sentence in one language", page.path, number, f"{word} changed",
                    {page.path: text}, True,
                )  # fmt: skip
