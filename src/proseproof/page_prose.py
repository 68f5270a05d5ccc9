"""Reading what stands between the fences: comments, tables, code spans, headings and links."""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise

from proseproof import shape_comments
from proseproof.page import Block, Formula, Heading, Link, Page, Section, Span, Table
from proseproof.page_fences import COMMENT, DIRECTIVE, refuse
from proseproof.sentence_subjects import SPAN, read_spans

HEADING = re.compile(r"^(?P<level>#{1,6})\s+(?P<title>.*?)\s*(?:\{(?P<attrs>[^{}]*)\})?\s*$")
LINK = re.compile(
    r"(?P<figure>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]"
    r"\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)",
)
REFERENCE = re.compile(r"^\s*\[(?!\^)(?P<text>[^\]]+)\]:\s+(?P<target>\S+)")
REFERRED = re.compile(r"(?<!\\)\[(?P<text>[^\[\]]+)\]\[(?P<name>[^\[\]]*)\]")
HTML_LINK = re.compile(r"<(?P<tag>a|img)\b(?P<attrs>[^>]*)>", re.IGNORECASE)
# A key on the keyboard is no code.
HTML_CODE = re.compile(r"<(pre|code|tt|samp|kbd(?!>[\w+ -]{1,12}</kbd>))(?=[\s>])", re.IGNORECASE)
# A dollar with a digit behind the closing one, or blanks inside, is money.
FORMULA = re.compile(
    r"(?<![\\$])(?:\$\$(?P<display>[^$]+)\$\$|\$(?=\S)(?P<inline>[^$\n]*[^$\s\\])\$(?!\d)|(?P<open>\$))"
)
QUOTE = re.compile(r"^ {0,3}(?:> ?)+")
RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
CONTAINER = re.compile(r"^\s*(?:!!!|\?\?\?\+?|===[!+]?|[-*+]\s|\d+[.)]\s|\[\^[^\]]+\]:|:\s)")


class ProseReader:
    """Goes through the lines from which the fences are taken, and fills the page."""

    def __init__(self, page: Page, prose: list[str]) -> None:
        self.page, self.prose = page, prose
        self.foreign: dict[int, str] = {}  # comments for others, by line
        self.referred: list[tuple[int, str]] = []
        self.defined: set[str] = set()

    def read(self) -> None:
        """Put everything that stands in the prose on the page."""
        self._comments()
        self._tables()
        self._indented_code()
        self._prose()
        self._references()
        self._figures()
        self._sections()
        self.page.prose = self.prose

    def _comments(self) -> None:
        """Take the remaining comments off the page; those that would do nothing are reported."""
        text = "\n".join(self.prose)
        for match in re.finditer(r"<!--(.*?)(-->|\Z)", text, re.DOTALL):
            number = text.count("\n", 0, match.start())
            body = match[1].strip()
            directive = DIRECTIVE.match(body)
            if not match[2]:
                self.page.problem(number + 1, "this comment is not closed", "end it with -->")
            elif body.startswith(("pytest-codeblocks", "pytest.mark")):
                if body.endswith("expected-output"):
                    self.page.problem(number + 1, "an expected output without a ```text fence")
                else:
                    refuse(self.page, number, body)
            elif directive is not None and directive["word"] == "shapes":
                continue
            elif directive is not None or body.startswith("proseproof"):
                self.page.problem(
                    number + 1,
                    f"<!--{body}--> stands before nothing",
                    "put it right above its block",
                )
            else:
                self.foreign[number + 1] = f"{self.foreign.get(number + 1, '')}<!--{body}-->"
        kept = re.sub(
            r"<!--(?!\s*proseproof\s*:\s*shapes\b).*?(?:-->|\Z)",
            lambda match: "\n" * match[0].count("\n"),
            text,
            flags=re.DOTALL,
        )
        self.prose[:] = kept.split("\n")

    def _tables(self) -> None:
        for number, line in enumerate(self.prose):
            match = COMMENT.match(line)
            directive = DIRECTIVE.match(match["body"]) if match else None
            if directive is None:
                continue
            self.prose[number] = ""
            rows: list[tuple[int, tuple[Span, ...]]] = []
            below = number + 1
            while below < len(self.prose) and not self.prose[below].strip():
                below += 1
            while below < len(self.prose) and self.prose[below].lstrip().startswith("|"):
                row = read_spans(self.prose[below], below + 1)
                rows.append((below + 1, tuple(row)))
                below += 1
            if len(rows) < 3 or not directive["rest"]:
                self.page.problem(
                    number + 1, "<!--proseproof: shapes EXPR--> needs a table right below it"
                )
                continue
            self.page.tables.append(Table(number + 1, directive["rest"], tuple(rows[2:])))

    def _indented_code(self) -> None:
        """Report text that Markdown shows as code because it is indented by four."""
        levels = [0]
        blank, quoted = True, False
        for number, whole in enumerate(self.prose):
            line = QUOTE.sub("", whole)
            if (line != whole) is not quoted:
                levels, blank, quoted = [0], True, line != whole
            if not line.strip():
                blank = True
                continue
            indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
            while indent < levels[-1]:
                levels.pop()
            if CONTAINER.match(line) and not RULE.match(line):
                levels.append(indent + 1)
            elif blank and indent >= max(4, 4 * -(-levels[-1] // 4) + 4):
                self.page.problem(number + 1, "indented code, which nobody runs", "write a fence")
            blank = bool(HEADING.match(line) or RULE.match(line))

    def _prose(self) -> None:
        start: int | None = None
        anchors: dict[str, int] = {}
        for number, line in enumerate([*self.prose, ""]):
            if line.strip():
                start = number if start is None else start
                if not line.startswith("#"):
                    continue
            if start is not None:
                end = number if not line.strip() else number + 1
                self._paragraph("\n".join(self.prose[start:end]), start + 1)
                start = None
            heading = HEADING.match(line)
            if heading is not None:
                self._heading(number + 1, heading, anchors)

    def _heading(self, line: int, match: re.Match[str], anchors: dict[str, int]) -> None:
        anchor = re.search(r"#([\w-]+)", match["attrs"] or "")
        name = anchor[1] if anchor else ""
        if name in anchors and name:
            self.page.problem(line, f"the anchor #{name} is taken by line {anchors[name]}")
        anchors[name] = line
        self.page.headings.append(Heading(line, len(match["level"]), match["title"], name))

    def _paragraph(self, text: str, line: int) -> None:
        page = self.page
        page.spans += read_spans(text, line)
        bare = SPAN.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
        if re.search(r"(?<!\\)`", bare):
            place = line + bare[: bare.index("`")].count("\n")
            page.problem(place, "a code span that is not closed", "close it with a backtick")
        for shown_code in HTML_CODE.finditer(bare):
            place = line + bare.count("\n", 0, shown_code.start())
            message = f"<{shown_code[1]}> shows code that nobody runs"
            page.problem(place, message, "write a fence, or a span between backticks")
        for formula in FORMULA.finditer(bare):
            place = line + bare.count("\n", 0, formula.start())
            inner = formula["display"] or formula["inline"] or ""
            if formula["display"] and inner.startswith("\n"):
                place += 1
            page.formulas.append(Formula(place, inner.strip(), bool(formula["display"])))
        if "--8<--" in bare:
            place = line + bare.count("\n", 0, bare.index("--8<--"))
            page.problem(place, "an include outside a listing", "quote it in a ```python fence")
        for match in LINK.finditer(bare):
            place = line + bare.count("\n", 0, match.start())
            words = text[match.start("text") : match.end("text")]
            page.links.append(Link(place, words, match["target"], bool(match["figure"])))
            if not match["figure"]:  # a figure that is itself a link
                for inner in LINK.finditer(match["text"]):
                    page.links.append(Link(place, inner["text"], inner["target"], True))
        for number, one in enumerate(bare.split("\n")):
            reference = REFERENCE.match(one)
            if reference:
                page.links.append(Link(line + number, "", reference["target"], False))
                self.defined.add(reference["text"].lower())
        for tag in HTML_LINK.finditer(bare):
            place = line + bare.count("\n", 0, tag.start())
            source = _attribute(tag["attrs"], "href|src")
            if source is not None:
                words = _attribute(tag["attrs"], "alt") or ""
                page.links.append(Link(place, words, source, tag["tag"].lower() == "img"))
        for match in REFERRED.finditer(re.sub(r"\$[^$\n]+\$", "", bare)):
            place = line + bare.count("\n", 0, match.start())
            self.referred.append((place, match["name"] or match["text"]))

    def _references(self) -> None:
        """Report `[words][name]` whose name no line defines: a reader sees the brackets."""
        for line, name in self.referred:
            if name.lower() not in self.defined:
                remedy = f"[words](target), or define it on a line of its own: [{name}]: target"
                self.page.problem(line, f"the reference [{name}] is defined nowhere", remedy)

    def _figures(self) -> None:
        """Report a drawing that is not shown, and one that is shown and that no block draws.

        A lab's blocks are cells, which draw where they stand: what it shows besides, a page draws.
        """
        page, folder = self.page, posixpath.dirname(self.page.path)
        drawn = {path: line for block in page.blocks for line, _, path in block.figures}
        shown = {} if page.is_lab else page.drawings()
        for path in drawn.keys() - shown.keys():
            place = posixpath.relpath(path, folder or ".")
            page.problem(drawn[path], f"{path} is drawn and not shown", f"![caption]({place})")
        for path in shown.keys() - drawn.keys():
            remedy = f"<!--proseproof: figure EXPRESSION {path}--> above the block that draws it"
            page.problem(shown[path], f"no block of this page draws {path}", remedy)

    def _sections(self) -> None:
        """Prose of each section: without code and outputs, but with the comments and the title of
        its blocks, with fences that are not code, and with comments for others."""
        lines = list(self.prose)
        for block in self.page.blocks:
            for number, comment in _comments_in(block):
                lines[number - 1] = comment
            lines[block.line - 1] += block.info
        for plain in self.page.plains:
            lines[plain.line - 1] = plain.info
            for number, text in enumerate(plain.text.splitlines(), plain.line):
                lines[number] = text
        for line, comment in self.foreign.items():
            lines[line - 1] += comment
        marks = [(heading.line, heading.anchor) for heading in self.page.headings]
        bounds = [(1, ""), *marks, (len(lines) + 1, "")]
        for (begin, anchor), (end, _) in pairwise(bounds):
            prose = "\n".join(line.strip() for line in lines[begin - 1 : end - 1] if line.strip())
            if prose or anchor:
                self.page.sections.append(Section(anchor, begin, prose))


def _comments_in(block: Block) -> list[tuple[int, str]]:
    if block.language != "python":
        return []
    tokens, _ = shape_comments.comment_tokens(block.code)
    return [(block.first + token.start[0] - 1, token.string) for token in tokens]


def _attribute(attributes: str, names: str) -> str | None:
    """What an HTML attribute is set to, in quotes of either kind or in none."""
    pattern = rf"(?<![\w-])(?:{names})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))"
    match = re.search(pattern, attributes, re.IGNORECASE)
    return next((one for one in match.groups() if one is not None), "") if match else None
