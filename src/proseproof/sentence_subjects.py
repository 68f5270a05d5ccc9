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
OF_A_KIND = re.compile(r"(?:is|are) (?:of type|an instance of)|属于|的?类型[是为]")
VERBS = (
    r"is|are|was|were|be|equals?|gives?|gave|returns?|returned|prints?|yields?|becomes?|became|"
    r"makes?|made|evaluates? to|comes? out as|comes? to|stays?|remains?|reads?|holds?|measures?|"
    rf"rounds? to|(?:is|are) equal to|(?:is|are) the same as|{OF_A_KIND.pattern}|"
    r"ha(?:s|ve) (?:the )?dtype|:|：|=|≈|"
    r"(?:还|也|都|就|才|正|仍|则|便|只|又|应该|必须|会|应)?是|为|等于|即|返回|得到|给出|打印出?|输出|"
    r"变成|变为|成为?了?|得出|得|算出|取|设[为成]|结果|恰好|正好|接近"
)
SHAPED = (
    r"ha(?:s|ve|d)|with|of|shapes?|sizes?|in shape|的?形状|的?大小|的?尺寸|有|,|，|\(|（|into|"
    r"laid out as|reshaped to"
)
FILLING = (
    r"now|then|also|again|still|both|all|each|just|only|exactly|thus|therefore|here|always|,|，|"
    r"the|its|their|tensors?|matrix|matrices|array|vectors?|results?|values?|which|that|it|so|to|"
    r"in|itself|a|an|must|will|about|roughly|nearly|approximately|close to|"
    r"['’]s|大约|大概|约|"
    r"现在|此时|这时|这里|都|也|均|仍然?|依然|还|又|就|才|分别|各自?|一个|一张|这个|张量|矩阵|向量|的|"
    r"值|结果|它|其|会|将|了|则|后|一共|总是|始终|也就|本身"
)
NEGATION = r"(?:is|are|was|were|does|do|wo)n['’]t|not|no longer|never|不再?|并不|并非|没有|绝不"
# How many, how much: the words by which two numbers are compared.
COMPARED = {
    "<": r"(?:less|smaller|lower|fewer) than|小于|少于|低于",
    ">": r"(?:more|greater|larger|bigger|higher) than|exceeds?|大于|多于|高于|超过",
    "<=": r"at most|no (?:more|larger|greater|higher) than|至多|最多|不超过|不大于|不多于",
    ">=": r"at least|no (?:less|smaller|fewer|lower) than|至少|最少|不小于|不少于|不低于",
}
OPPOSITE = {"is": "is not", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "a": "a"}
# The length of `x` is said of len(x), and so on.
PROPERTIES = {
    r"length": (r"长度", "len({})"),
    r"sum|total": (r"总?和", "({}).sum()"),
    r"maximum|largest (?:entry|element|number|value)": (r"最大值", "({}).max()"),
    r"minimum|smallest (?:entry|element|number|value)": (r"最小值", "({}).min()"),
    r"mean|average": (r"平均值?|均值", "({}).mean()"),
    r"number of (?:axes|dimensions)": (r"轴数|维数", "({}).ndim"),
    r"d?type|data type": (r"dtype|数据类型", "({}).dtype"),
    r"device": (r"设备", "({}).device"),
}


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
    rf"\s*(?:(?P<compared>{_words(*COMPARED.values())})|(?P<no>{_words(NEGATION)})"
    rf"|(?P<verb>{_words(VERBS)})|(?P<shaped>{_words(SHAPED)})"
    rf"|(?P<fill>{_words(FILLING)}))",
    re.IGNORECASE,
)
OF_SHAPE = re.compile(
    r"\s*(?:(?:is|are) the shapes? of|的|是|属于|from|"
    r"(?:tensor|matrix|array|block|mask|table|vector|weight)(?: such as| like| called)?|"
    r"的?(?:张量|矩阵|掩码|向量|权重|表))\s*"
)
RAISES = re.compile(
    r"(?:\b(?:raise[sd]?|throws?|thrown|fails with|ends with)|抛出了?|引发了?|触发了?|报出?|报错)"
    r"\s*(?:an?|the|一个|一条)?\s*$"
)
RAISED_BY = re.compile(rf"\s*(?:will|would|also|会|就|则|将)?\s*{RAISES.pattern}")
PLAIN = re.compile(r"(?:^|[^\w$\\`])([A-Za-z_]\w*)(?P<link>(?:\s|[,:(])[^`]*)$")
DEFAULT = re.compile(r"\bdefaults?\b|\bunless (?:you|told)\b|默认|缺省|除非", re.IGNORECASE)
BESIDES = re.compile(r"\s*[,，]?\s*(?:and |but )?(?:not|不是|而不是|而非)\s*(?:the |a )?")
DENIED = re.compile(r"\s*(?:is|are|gives?|returns?|为|是|得)\s*(?:false|假)(?![A-Za-z])")
# A sum or a product in words is no list, and its last part is not what is spoken of.
RECKONED = re.compile(r"(?:times|plus|minus|divided by|over|乘以?|加上?|减去?|除以)\s*$")


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
    """How the words between two spans link them: `is`, `is not`, `a` (kind), `<`, or not."""
    verb = shaped = negated = article = False
    compared = ""
    place = 0
    between = " ".join(between.split())
    while place < len(between) and between[place:].strip():
        match = TOKEN.match(between, place)
        if match is None or match.end() == place:
            return ""
        verb = verb or match["verb"] is not None or "n" in (match["no"] or "")[2:-2]
        if match["compared"]:
            compared = _operator(match["compared"])
        shaped = shaped or match["shaped"] is not None
        negated = negated or match["no"] is not None
        if match["fill"] or match["shaped"]:
            article = (match["fill"] or "") in ("a", "an", "一个")
        elif match["verb"]:
            article = bool(OF_A_KIND.fullmatch(match["verb"]))
        place = match.end()
    if compared:
        return "" if value not in ("", "number") else OPPOSITE[compared] if negated else compared
    if not (verb or (shaped and value == "shape")):
        return ""
    if article and not value:
        return "a"
    return "is not" if negated else "is"


def _operator(words: str) -> str:
    """`<` for `less than`."""
    return next(sign for sign, all_ in COMPARED.items() if re.fullmatch(all_, words, re.IGNORECASE))


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
        denied = "false" if DENIED.match(text, place.end) else ""
        _put(places, index, near=near, default=default, raised=raised, link=denied)
        if raised and index and RAISED_BY.fullmatch(text[places[index - 1].end : place.start]):
            _put(places, index, subjects=(places[index - 1].span.text,), link="raises")
            _put(places, index - 1, is_subject=True)


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
        if not between.strip() or (step < 0 and _is_said(new.text)):
            break
        if new.text == places[found[-1]].span.text and re.search("[,，]", between) and not kind:
            break  # that is `d`, and `d` is 12: two clauses, and no list
        found.append(found[-1] + step)
    return found[::step]


def _is_said(text: str) -> bool:
    """True for `bias=False` and `n == 3`: a condition, and not the first of a list of subjects."""
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Compare)
    except (SyntaxError, ValueError):
        return "=" in text


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
        template, linking = _property(between)
        how = link(linking, kind) if index else ""
        if how and not kind_of(places[index - 1].span.text):
            _state(text, places, index, how, template)
        elif index and kind and BESIDES.fullmatch(between) and places[index - 1].span.link == "is":
            _put(places, index, subjects=places[index - 1].span.subjects, link="is not")
        elif kind == "shape":
            _shape_of_the_next(text, places, index)
        if kind and not places[index].span.subjects and not _in_a_row(text, places, index):
            _plain_word(between, places, index)


def _property(between: str) -> tuple[str, str]:
    """What the words behind a subject speak of, len(x) for `的长度是`, and the words without it."""
    for english, (chinese, template) in PROPERTIES.items():
        match = re.match(rf"\s*(?:['’]s|的)\s*(?:{english}|{chinese})(?![A-Za-z])", between)
        if match is not None:
            return template, between[match.end() :]
    return "{}", between


def _state(text: str, places: list[_Place], index: int, how: str, template: str) -> None:
    """The spans before this one are its subjects; a list of values goes to a list of subjects."""
    spoken_of = _run(text, places, index - 1, -1)
    before = text[: places[spoken_of[0]].start]
    if RECKONED.search(before):
        return
    for one in spoken_of:
        _put(places, one, is_subject=True)
    for english, (_, of) in PROPERTIES.items():
        if re.search(rf"\b(?:{english}) of (?:the |both |all )?$", before, re.IGNORECASE):
            template = of
    subjects = [template.format(places[one].span.text) for one in spoken_of]
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
