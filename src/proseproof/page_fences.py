"""Reading the fences of a page: blocks, listings, outputs, and what is plainly not code.

Python-Markdown allows a fence at any indentation (tabs, admonitions, lists), where CommonMark sees
indented code; so fences are found line by line, and everything that a reader would see as code
without it being one of the known kinds is reported.
"""

from __future__ import annotations

import ast
import re
import textwrap

from proseproof.listings import INCLUDE
from proseproof.page import Block, Listing, Output, Page, Plain

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
COMMENT = re.compile(r"^\s*<!--\s*(?P<body>.*?)\s*-->\s*$")
DIRECTIVE = re.compile(r"proseproof\s*:\s*(?P<word>[a-z]+)\b\s*:?\s*(?P<rest>.*)", re.DOTALL)
ATTRIBUTES = re.compile(r'(?:\s+(?:title|hl_lines|linenums)="[^"]*")*\s*')
PLAIN = frozenset(
    re.findall(
        r"\w+",
        "text console mermaid math latex yaml toml json html css diff markdown csv makefile dot",
    )
)
PYTHON_LIKE = frozenset(
    {"py", "python", "python3", "py3", "pycon", "ipython", "ipython3", "pytb", "sage", "jupyter"}
)
# Below a block, a reader takes these for what it prints; all the more after such words.
OUTPUT_LIKE = frozenset({"text", "json", "csv"})
INTRODUCED = re.compile(
    r"(?:\b(?:prints?|printed|outputs?|gives?|returns?|shows?|result)\b"
    r"|打印|输出|得到|返回|结果|显示)[^.。!！?？]*$",
    re.IGNORECASE,
)
SHELL = frozenset({"sh", "bash"})
# What opens a part that unfolds: an output may be in one, so that readers can guess first.
FOLD = re.compile(r'^\s*\?\?\?\+? [\w -]+(?: "[^"]*")?\s*$')


class FenceReader:
    """Goes through the lines once; what it takes is left empty in `prose`."""

    def __init__(self, page: Page, lines: list[str], prose: list[str]) -> None:
        self.page, self.lines, self.prose = page, lines, prose

    def _blank(self, begin: int, end: int) -> None:
        self.prose[begin:end] = [""] * (end - begin)

    def read(self) -> None:
        """Take every fence off the prose and put it on the page as what it is."""
        number = 0
        while number < len(self.lines):
            if not self.prose[number].strip():
                number += 1
                continue
            match = FENCE.match(self.lines[number])
            if match is None:
                if re.search(r"^\s*(?:[-*+>]|\d+[.)]).*?(```|~~~)", self.lines[number]):
                    self.page.problem(
                        number + 1,
                        "a fence has to begin its line",
                        "move the fence to its own line",
                    )
                number += 1
                continue
            ticks, indent = match["ticks"], match["indent"]
            if ticks[0] == "`" and "`" in match["info"]:
                number += 1  # an inline span with many ticks
                continue
            closing = re.compile(rf"^[ \t]*{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*$")
            end = next(
                (n for n in range(number + 1, len(self.lines)) if closing.match(self.lines[n])),
                None,
            )
            if end is None:
                self.page.shown += 1
                self.page.problem(number + 1, "this fence is not closed", f"end it with {ticks}")
                self._blank(number, len(self.lines))
                return
            if not self.lines[end].startswith(indent + ticks[0]):
                self.page.problem(
                    end + 1, "the closing fence is not in line with the opening one", "align it"
                )
            body = [self._dedent(line, indent) for line in self.lines[number + 1 : end]]
            self._fence(number, end, indent, match["info"], ticks, "\n".join([*body, ""]))
            number = end + 1

    @staticmethod
    def _dedent(line: str, indent: str) -> str:
        return line[len(indent) :] if line.startswith(indent) else line.lstrip()

    def _fence(self, number: int, end: int, indent: str, info: str, ticks: str, body: str) -> None:
        page, line = self.page, number + 1
        page.shown += 1
        language = info.strip().split(" ")[0]
        attributes = info.strip().removeprefix(language).strip()
        directives = self._directives_above(number)
        self._blank(number, end + 1)
        title = re.search(r'title="([^"]*)"', attributes)
        if title is not None and _is_code(title[1]):
            message = f"a title that is code, which nobody checks: {title[1]}"
            page.problem(line, message, "say it in a sentence below, as a code span")
        say = 'write ```python, alone or followed by title="…" or hl_lines="…"'
        if ticks[0] == "~":
            page.problem(line, "a ~~~ fence is never run", "write it with ```")
        elif info[:1].isspace():
            page.problem(line, "a fence with a space before its language is never run", say)
        elif not language:
            page.problem(line, "a fence without a language", "name it: ```python, ```text …")
        elif language.startswith("{") or (language.lower() in PYTHON_LIKE and language != "python"):
            page.problem(line, f"a fence marked {info.strip()!r} is never run", say)
        elif "--8<--" in body:
            self._listing(line, language, attributes, body)
        elif language == "python" and not ATTRIBUTES.fullmatch(info.removeprefix("python")):
            page.problem(line, f"a fence marked {info.strip()!r} is never run", say)
        elif self.page.is_lab and language == "python":
            page.problem(line, "a python fence in a lab", "make it a code cell: # %%")
        elif language == "python" or language in SHELL:
            if language in SHELL and info.strip() != language:
                page.problem(line, f"a fence marked {info.strip()!r}", f"write ```{language}")
            block = Block(line, line + 1, end, indent, body, language, info=attributes)
            self._apply(block, directives)
            page.blocks.append(block)
            return
        elif language not in PLAIN:
            page.problem(
                line,
                f"a fence in {language!r}, which is neither run nor known not to be code",
                f"use one of: python, {', '.join(sorted(PLAIN))}",
            )
        elif self._is_output(directives):
            self._output(Output(line, line + 1, end, indent, body), language)
            return
        else:
            self._plain(Plain(line, language, body, attributes))
        for place, word, _ in directives:
            page.problem(place + 1, f"<!--{word}--> belongs before a ```python block")

    @staticmethod
    def _is_output(directives: list[tuple[int, str, str]]) -> bool:
        return [word for _, word, _ in directives] == ["expected-output"]

    def _directives_above(self, number: int) -> list[tuple[int, str, str]]:
        """The comments between a fence and what stands above it, top first, taken off the page."""
        found: list[tuple[int, str, str]] = []
        above = number - 1
        while above >= 0:
            line = self.prose[above]
            match = COMMENT.match(line)
            if line.strip() and match is None:
                break
            if match is None and self.lines[above].strip():
                break
            if match is not None:
                body = match["body"]
                directive = DIRECTIVE.match(body)
                if directive is not None:
                    found.append((above, directive["word"], directive["rest"]))
                elif re.fullmatch(r"pytest-codeblocks\s*:\s*expected-output", body):
                    found.append((above, "expected-output", ""))
                elif body.startswith(("pytest-codeblocks", "pytest.mark")):
                    refuse(self.page, above, body)
                else:
                    break
                self.prose[above] = ""
            above -= 1
        return found[::-1]

    def _apply(self, block: Block, directives: list[tuple[int, str, str]]) -> None:
        for number, word, rest in directives:
            if word == "silent" and not rest:
                block.silent = True
            elif word == "skip" and rest:
                block.skip = rest
            elif word == "raises" and re.fullmatch(r"[\w.]+(: .+)?", rest):
                block.raises = rest
                if re.match(r"(\w+\.)*(Exception|BaseException|object)\b", rest):
                    message = f"raises {rest}: any mistake in the code would do"
                    self.page.problem(number + 1, message, "name the error that is meant")
            elif word == "figure" and re.fullmatch(r"\S.* \S+\.svg", rest):
                expression, path = rest.rsplit(" ", 1)
                block.figures.append((number + 1, expression, path))
            elif word == "skip":
                self.page.problem(
                    number + 1,
                    "a skip without a reason",
                    "write <!--proseproof: skip: the reason-->",
                )
            else:
                self.page.problem(
                    number + 1,
                    f"<!--proseproof: {word} {rest}--> is not understood before a block",
                    "one of: silent · skip: reason · raises Error: words · figure code path.svg",
                )

    def _listing(self, line: int, language: str, info: str, body: str) -> None:
        match = INCLUDE.match(body.strip())
        if language != "python" or match is None:
            self.page.problem(
                line,
                "a listing holds nothing but its include",
                '```python title="path", then one line --8<-- "path:name"',
            )
            return
        path = match["spec"].partition(":")[0]
        if f'title="{path}"' not in info:
            self.page.problem(line, "a listing says where it is from", f'add title="{path}"')
        self.page.listings.append(Listing(line, match["spec"], info))

    def _output(self, output: Output, language: str) -> None:
        block = self.page.blocks[-1] if self.page.blocks and not self.page.is_lab else None
        between = range(block.last, output.line - 1) if block is not None else range(0)
        others: list[Listing | Plain] = [*self.page.listings, *self.page.plains]
        if (
            block is None
            or any(self.prose[n].strip() and not FOLD.match(self.prose[n]) for n in between)
            or any(block.last <= other.line < output.line for other in others)
        ):
            self.page.problem(
                output.line,
                "an expected output with no block right above",
                "put it below its block",
            )
        elif block.output is not None:
            self.page.problem(output.line, "a second output for one block", "show it in one fence")
        elif language != "text":
            self.page.problem(output.line, f"an output in {language!r}", "write ```text")
        elif block.language != "python":
            self.page.problem(output.line, "an output below a shell block", "show a python block")
        else:
            block.output = output

    def _plain(self, plain: Plain) -> None:
        self.page.plains.append(plain)
        shown_as_output = self._shown_as_output(plain)
        if shown_as_output:
            message = f"a {plain.language} fence {shown_as_output}, which nobody checks"
            remedy = "right below its block, in ```text: <!--pytest-codeblocks:expected-output-->"
            self.page.problem(plain.line, message, remedy)
        elif _is_code_in(plain):
            remedy = "write ```python, or a listing"
            if plain.language == "diff":
                remedy = "show the new lines in a ```python block, and say in words what changed"
            self.page.problem(plain.line, "Python in a fence that is not run", remedy)

    def _shown_as_output(self, plain: Plain) -> str:
        """How a reader comes to take the fence for what the block above prints, if so."""
        blocks = self.page.blocks
        if plain.language not in OUTPUT_LIKE or not blocks or self.page.is_lab:
            return ""
        between = [self.lines[n] for n in range(blocks[-1].last + 1, plain.line - 1)]
        said = [line.strip() for line in between if line.strip() and not FOLD.match(line)]
        if not said:
            return "right below a block"
        if any(re.match(r"#{1,6}\s", line) for line in between):
            return ""
        if blocks[-1].silent and plain.language == "text":
            return "after a silent block"
        return "introduced as an output" if INTRODUCED.search(said[-1]) else ""


def refuse(page: Page, number: int, body: str) -> None:
    """Report a comment of pytest-codeblocks that is not taken, with what to write instead."""
    word = body.partition(":")[2].strip() or body
    remedy = {
        "cont": "blocks stand alone: repeat what this one needs",
        "skip": "write <!--proseproof: skip: the reason-->",
        "expected-output-ignore-whitespace": "write <!--pytest-codeblocks:expected-output-->",
    }.get(word, "write <!--proseproof: …--> (silent, skip: reason, raises Error: words)")
    page.problem(number + 1, f"<!--{body}--> is refused", remedy)


def _is_code_in(plain: Plain) -> bool:
    """True for a fence that holds Python, though its language says that it does not."""
    if re.search(r"^\s*(>>>|In \[\d*\]:) ", plain.text, re.MULTILINE):
        return True
    if plain.language == "diff":
        files = re.findall(r"^(?:---|\+\+\+) .*", plain.text, re.MULTILINE)
        if re.search(r"\.(?!py\b)[a-z]+\b", " ".join([plain.info, *files])):
            return False  # it changes a file that is not Python
        lines = [line for line in plain.text.splitlines() if line not in files]
        added = [line[1:] for line in lines if line.startswith("+")]
        after = [line[1:] for line in lines if not line.startswith(("-", "@@"))]
        texts = [textwrap.dedent("\n".join(one)) for one in (added, after)]
        return any(map(_is_program, texts))
    return plain.language in ("text", "markdown") and _is_program(plain.text)


def _is_program(text: str) -> bool:
    """True for text that parses as Python and does something."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return any(map(_does_something, body))


def _does_something(node: ast.stmt) -> bool:
    """False for what may be words: `pass`, `name: value`, an expression that calls nothing."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    return not isinstance(node, ast.Pass | ast.Break | ast.Continue)


def _is_code(title: str) -> bool:
    """True for a title such as n == 4, f(x) or (2, 3); not for words or a path."""
    try:
        ast.parse(title)
    except (SyntaxError, ValueError):
        return False
    return re.search(r"\w[(\[]|[=<>]|^[(\[]", title) is not None
