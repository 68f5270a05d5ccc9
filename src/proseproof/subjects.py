"""Finding the subject of a claim: of what a sentence says that it is so, in English and Chinese.

`A` is `B`, `A` and `B` have shape `C`, `A` 的形状是 `B`: the code on the left is the subject of the
code on the right when nothing but linking words stands between them. So it is in a row of a table
that begins with the subject. Where the grammar does not show it, the author names it behind the
code: `0.42`{of=weights.max()}.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from proseproof import shape_comments
from proseproof.page import Span

SPAN = re.compile(
    r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<text>.+?)(?<!`)(?P=ticks)(?!`)"
    r"(?:\{:?(?P<attrs>[^{}\n]*)\})?",
    re.DOTALL,
)
OF = re.compile(r"""\bof=(?:"([^"]*)"|'([^']*)'|(\S+))""")
LISTED = re.compile(r"\s*(?:,|;|、|，|；|and|or|和|与|及|以及|或|, and|, or|，和)?\s*")
NUMBER = re.compile(r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？；;]|\n\s*(?=[-*+|]|\d+\.)|\|")

# What may stand between a subject and what is said of it.
VERBS = (
    r"is|are|was|were|be|equals?|gives?|gave|returns?|returned|prints?|yields?|becomes?|became|"
    r"makes?|made|evaluates? to|comes? out as|comes? to|stays?|remains?|reads?|holds?|"
    r"(?:is|are) equal to|:|：|=|"
    r"(?:还|也|都|就|才|正|仍|则|便|只|又|应该|必须|会|应)?是|为|等于|即|返回|得到|给出|打印出?|输出|"
    r"变成|变为|成为?了?|得出|算出|取|结果|恰好|正好"
)
SHAPED = (
    r"ha(?:s|ve|d)|with|of|shapes?|sizes?|in shape|的?形状|的?大小|的?尺寸|有|,|，|\(|（|into|"
    r"laid out as|reshaped to"
)
FILLING = (
    r"now|then|also|again|still|both|all|each|just|only|exactly|thus|therefore|here|always|,|，|"
    r"the|its|their|tensors?|matrix|matrices|array|vectors?|results?|values?|which|that|it|so|to|"
    r"in|itself|a|an|"
    r"现在|此时|这时|这里|都|也|均|仍然?|依然|还|又|就|才|分别|各自?|一个|一张|这个|张量|矩阵|向量|的|"
    r"值|结果|它|其|会|将|了|则|后|一共|总是|始终|也就|本身"
)
NEGATION = r"not|n't|no longer|never|不再?|并不|并非|没有|绝不"


def _words(*kinds: str) -> str:
    return "|".join(
        word if not word[-1].isascii() or not word[-1].isalpha() else rf"{word}(?![A-Za-z])"
        for kind in kinds
        for word in _split(kind)
    )


def _split(kind: str) -> list[str]:
    """The alternatives of a pattern, the longest first, groups kept whole."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(kind):
        depth += (sign == "(") - (sign == ")") if kind[place - 1 : place] != "\\" else 0
        if sign == "|" and depth == 0:
            parts.append(kind[start:place])
            start = place + 1
    parts.append(kind[start:])
    return sorted(parts, key=len, reverse=True)


TOKEN = re.compile(
    rf"\s*(?:(?P<no>{_words(NEGATION)})|(?P<verb>{_words(VERBS)})|(?P<shaped>{_words(SHAPED)})"
    rf"|(?P<fill>{_words(FILLING)}))",
    re.IGNORECASE,
)
OF_SHAPE = re.compile(
    r"\s*(?:(?:is|are) the shapes? of|的|是|(?:tensor|matrix|array|block|mask|table|vector|weight)|"
    r"的?(?:张量|矩阵|掩码|向量|权重|表))\s*"
)
RAISES = re.compile(
    r"(?:\b(?:raise[sd]?|throws?|thrown|fails with|ends with)|抛出了?|引发了?|触发了?|报出?|报错)"
    r"\s*(?:an?|the|一个|一条)?\s*$"
)
PLAIN = re.compile(r"(?:^|[^\w$\\`])([A-Za-z_]\w*)(?P<link>(?:\s|[,:(])[^`]*)$")
DEFAULT = re.compile(r"\bdefaults?\b|默认|缺省", re.IGNORECASE)


@dataclass(frozen=True)
class _Place:
    """A span and where it stands in its paragraph."""

    start: int
    end: int
    span: Span


def kind_of(text: str) -> str:
    """What a span can be said to be: a shape, a number, a constant, a string, a display …"""
    if text.startswith("(") and shape_comments.parse_dims(text) is not None:
        return "shape"
    if NUMBER.fullmatch(text):
        return "number"
    try:
        node = ast.parse(text, mode="eval").body
        value = ast.literal_eval(node)
    except (SyntaxError, ValueError, TypeError, MemoryError):
        return ""
    if value is None or isinstance(value, bool):
        return "constant"
    if isinstance(value, str | bytes):
        return "string"
    return "display" if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set) else ""


def link(between: str, value: str) -> str:
    """How two spans are linked by the words between them: `is`, `is not`, `a` (kind), or not."""
    verb = shaped = negated = article = False
    place = 0
    between = " ".join(between.split())
    while place < len(between) and between[place:].strip():
        match = TOKEN.match(between, place)
        if match is None or match.end() == place:
            return ""
        verb = verb or match["verb"] is not None
        shaped = shaped or match["shaped"] is not None
        negated = negated or match["no"] is not None
        if match["fill"] or match["shaped"]:
            article = (match["fill"] or "") in ("a", "an", "一个")
        elif match["verb"]:
            article = False
        place = match.end()
    if not (verb or (shaped and value == "shape")):
        return ""
    if article and not value:
        return "a"
    return "is not" if negated else "is"


def read_spans(text: str, line: int) -> list[Span]:
    """The code spans of a paragraph, each with its subject where the sentence shows it."""
    places: list[_Place] = []
    for match in SPAN.finditer(text):
        attrs = match["attrs"] or ""
        of = OF.search(attrs)
        marks = frozenset(re.findall(r"(?:^|\s)\.([\w-]+)", attrs))
        span = Span(
            line + text.count("\n", 0, match.start()),
            " ".join(match["text"].split()).strip(),
            marks,
            of=next((one for one in of.groups() if one), "") if of else "",
        )
        places.append(_Place(match.start(), match.end(), span))
    _with_sentence(text, places)
    _with_rows(text, places)
    _with_subjects(text, places)
    return [place.span for place in places]


def _put(places: list[_Place], index: int, **changes: object) -> None:
    place = places[index]
    places[index] = _Place(place.start, place.end, replace(place.span, **changes))  # type: ignore[arg-type]


def _bare(text: str, places: list[_Place]) -> str:
    """The paragraph with its code blanked, so that no sign in it ends a sentence."""
    for place in places:
        text = text[: place.start] + "x" * (place.end - place.start) + text[place.end :]
    return text


def _with_sentence(text: str, places: list[_Place]) -> None:
    """Note what else stands in the same sentence, and whether it speaks of defaults."""
    bare = _bare(text, places)
    ends = [match.end() for match in SENTENCE_END.finditer(bare)]
    for index, place in enumerate(places):
        start = max((end for end in ends if end <= place.start), default=0)
        stop = min((end for end in ends if end >= place.end), default=len(text))
        near = tuple(
            one.span.text
            for one in places
            if start <= one.start < stop and one.span.text != place.span.text
        )
        before = bare[start : place.start]
        raised = bool(RAISES.search(before)) and place.span.text.isidentifier()
        default = bool(DEFAULT.search(bare[start:stop]))
        _put(places, index, near=near, default=default, raised=raised)


def _run(text: str, places: list[_Place], index: int, step: int) -> list[int]:
    """The spans that are listed with this one, before it (-1) or behind it (1), in order."""
    kind = kind_of(places[index].span.text)
    found = [index]
    while 0 <= found[-1] + step < len(places):
        left, right = sorted((found[-1], found[-1] + step))
        new = places[found[-1] + step].span
        between = text[places[left].end : places[right].start]
        same = kind_of(new.text) == kind
        if not same or new.mark != places[index].span.mark or not LISTED.fullmatch(between):
            break
        if not between.strip():
            break
        found.append(found[-1] + step)
    return found[::step]


def _with_rows(text: str, places: list[_Place]) -> None:
    """Put the numbers that are listed with one another together: `2`, `0` and `1`."""
    index = 0
    while index < len(places):
        run = [index]
        if kind_of(places[index].span.text) == "number":
            run = _run(text, places, index, 1)
        if len(run) > 1:
            row = tuple(places[one].span.text for one in run)
            of = next((places[one].span.of for one in run if places[one].span.of), "")
            for one in run:
                _put(places, one, row=row, of=of)
        index = run[-1] + 1


def _with_subjects(text: str, places: list[_Place]) -> None:
    for index in range(len(places)):
        span = places[index].span
        if span.subjects or span.of or span.mark == "text":
            continue
        kind = kind_of(span.text)
        start = places[index - 1].end if index else 0
        between = text[start : places[index].start]
        how = link(between, kind) if index else ""
        if how and not kind_of(places[index - 1].span.text):
            _state(text, places, index, how)
        elif kind == "shape":
            _shape_of_the_next(text, places, index)
        if kind and not places[index].span.subjects and not _in_a_row(text, places, index):
            _plain_word(between, places, index)


def _state(text: str, places: list[_Place], index: int, how: str) -> None:
    """The spans before this one are its subjects; a list of values goes to a list of subjects."""
    spoken_of = _run(text, places, index - 1, -1)
    for one in spoken_of:
        _put(places, one, is_subject=True)
    subjects = [places[one].span.text for one in spoken_of]
    values = _run(text, places, index, 1) if kind_of(places[index].span.text) else [index]
    if kind_of(places[index].span.text) == "number":
        values = [index, *(one for one in values[1:] if places[one].span.row)]
    if len(subjects) == len(values) > 1:
        for subject, one in zip(subjects, values, strict=True):
            _put(places, one, subjects=(subject,), link=how, row=())
        return
    if len(values) > 1 and kind_of(places[index].span.text) != "number":
        values = [index]
    for one in values:
        _put(places, one, subjects=tuple(subjects), link=how)


def _shape_of_the_next(text: str, places: list[_Place], index: int) -> None:
    """`(5, 8)` is the shape of `Q`; 形状为 `(5, 8)` 的 `Q`; the `(5, 8)` tensor `Q`."""
    if index + 1 < len(places) and not kind_of(places[index + 1].span.text):
        between = text[places[index].end : places[index + 1].start]
        if OF_SHAPE.fullmatch(between):
            _put(places, index, subjects=(places[index + 1].span.text,), link="is")
            _put(places, index + 1, is_subject=True)


def _in_a_row(text: str, places: list[_Place], index: int) -> bool:
    """In a row of a table, the code of the first cell is the subject of the values behind it."""
    start = text.rfind("\n", 0, places[index].start) + 1
    end = text.find("\n", places[index].end)
    row = text[start : end if end >= 0 else len(text)]
    if not row.lstrip().startswith("|"):
        return False
    bars = [start + match.start() for match in re.finditer(r"(?<!\\)\|", _bare_row(row))]
    if len(bars) < 3 or places[index].start < bars[1]:
        return False
    first = [one for one in places if bars[0] < one.start < bars[1]]
    words = text[bars[0] + 1 : bars[1]]
    rest = SPAN.sub("", words)
    if not first or not re.fullmatch(r"(?:[\s,、，]|and|和|与|及)*", rest):
        return False
    subjects = tuple(one.span.text for one in first)
    if any(kind_of(subject) for subject in subjects):
        return False
    _put(places, index, subjects=subjects, link="is")
    for one in first:
        _put(places, places.index(one), is_subject=True)
    return True


def _bare_row(row: str) -> str:
    return SPAN.sub(lambda match: "x" * len(match[0]), row)


def _plain_word(between: str, places: list[_Place], index: int) -> None:
    """The weights have the shape `(2, 5, 5)`: a word that may be the name of a variable."""
    kind = kind_of(places[index].span.text)
    bare = re.split(r"[.!?。！？；;|](?:\s|$)", " ".join(between.split()))[-1]
    words = list(re.finditer(r"(?<![\w$\\.])[A-Za-z_]\w*(?![\w$])", bare))
    for word in reversed(words):
        rest = bare[word.end() :]
        if not link(rest, kind):
            if rest.strip() and TOKEN.match(rest) is None:
                return
            continue
        if TOKEN.fullmatch(word[0]) is None:
            _put(places, index, subjects=(word[0],), link=link(rest, kind), plain=True)
            return
