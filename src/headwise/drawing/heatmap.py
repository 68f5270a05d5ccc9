"""Heat maps of weights and pictures of masks, with what each query looks at in words."""

import itertools
import math
import unicodedata
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from headwise.drawing.cells import cell_size, paint, panels_of, scale
from headwise.drawing.checks import check_tensor, strings
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.from_matplotlib import Canvas, axes_at, canvas_of, from_matplotlib, style
from headwise.drawing.rounding import highest, two_decimals
from headwise.drawing.words import choose, drawable, listed, titled

PHONE = 385.0  # the width that a phone shrinks so little that words can still be read

WORDS = {
    "en": {
        "weights": "Attention weights",
        "head": "head {} of {}",
        "look": "{} looks most at {} ({})",
        "look at several": "{} looks most at {} ({} each)",
        "look at all": "{0} looks at all {1} alike ({2} each)",
        "sees nothing": "{} sees nothing",
        "at": "{} at {}",
        "strongest": "strongest is {} ({})",
        "strongest are": "strongest are {} ({} each)",
        "diagonal": "strongest is the diagonal ({} each)",
        "alike": "all are alike ({} each)",
        "mask": "Mask (1, filled: may be seen)",
        "sample": "sample {} of {}",
        "sees": "{} sees {} of {}",
        "query": "query",
        "key": "key",
        "quote": "'{}'",
    },
    "zh": {
        "weights": "注意力权重",
        "head": "第 {} 头（共 {} 头）",
        "look": "{}最关注{}（{}）",
        "look at several": "{}最关注{}（各 {}）",
        "look at all": "{0}对全部 {1} 个的关注相同（各 {2}）",
        "sees nothing": "{}什么也看不到",
        "at": "{}对{}",
        "strongest": "最强的是{}（{}）",
        "strongest are": "最强的是{}（各 {}）",
        "diagonal": "最强的是对角线（各 {}）",
        "alike": "全部相同（各 {}）",
        "mask": "掩码（1、填色：可见）",
        "sample": "第 {} 个样本（共 {} 个）",
        "sees": "{}能看到 {} 个，共 {} 个",
        "query": "查询",
        "key": "键",
        "quote": "“{}”",
    },
}


@with_twin
def heatmap(
    weights: Tensor,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    axes: tuple[str, str] | None = None,
    title: str | None = None,
    lang: str = "en",
) -> Figure:
    """One heat map a head, with a row for each query and a column for each key.

    weights: (num_heads, query, key), or (query, key) for a single map.
    queries, keys: the tokens. Keys default to the queries where the numbers agree, and tokens to
    their positions, counted from 0.
    names: what the maps are called, by default head 1, head 2 and so on.
    axes: what goes down and what goes across, by default query and key.
    """
    words = choose(WORDS, lang)
    panels = panels_of("weights", weights)
    rows, columns = _tokens(panels, queries, keys)
    labels = _labels(panels, "head", words)
    if names is not None:
        labels = [drawable(name) for name in strings("names", names, len(panels))]
    down, across = (words["query"], words["key"]) if axes is None else strings("axes", axes, 2)
    # A map with a name may hold other numbers than weights: no query looks at anything then.
    brief = names is not None or panels.size(0) * panels.size(1) > 16

    def tell(panel: Tensor) -> str:
        tell_it = _strongest if brief else _looks
        return tell_it(panel, _quoted(rows, words), _quoted(columns, words), words)

    title = titled(title, words["weights"])
    alt = _alt(title, panels, labels, tell, words)
    with style():
        canvas = _grid(panels, rows, columns, labels, (down, across), two_decimals)
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


@with_twin
def mask_picture(
    mask: Tensor,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    title: str | None = None,
    lang: str = "en",
) -> Figure:
    """What each query may see: a filled cell is True.

    mask: boolean, (query, key); or (batch, query, key) or (batch, 1, query, key), which give one
    picture a sample. queries, keys: as in `heatmap`.
    """
    words = choose(WORDS, lang)
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: got dtype {mask.dtype}, expected torch.bool, True = may be seen")
    panels = panels_of("mask", mask.squeeze(1) if mask.dim() == 4 else mask)
    rows, columns = _tokens(panels, queries, keys)

    def tell(panel: Tensor) -> str:
        seen = [int(row.sum()) for row in panel]
        return words["semicolon"].join(
            words["sees"].format(row, count, len(columns))
            for row, count in zip(_quoted(rows, words), seen, strict=True)
        )

    title = titled(title, words["mask"])
    labels = _labels(panels, "sample", words)
    alt = _alt(title, panels, labels, tell, words)
    with style():
        names = (words["query"], words["key"])
        canvas = _grid(panels, rows, columns, labels, names, "{:.0f}".format)
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


def _tokens(
    panels: Tensor, queries: Sequence[str] | None, keys: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    _, rows, columns = panels.shape
    if keys is None and rows == columns:
        keys = queries
    tokens = []
    for name, given, count in (("queries", queries, rows), ("keys", keys, columns)):
        shown = map(str, range(count)) if given is None else strings(name, given, count)
        tokens.append([drawable(token) for token in shown])
    return tokens[0], tokens[1]


def _quoted(tokens: list[str], words: dict[str, str]) -> list[str]:
    """Each token in quotation marks, with its position where the same token comes again."""
    return [
        words["quote"].format(token) + (f" [{i}]" if tokens.count(token) > 1 else "")
        for i, token in enumerate(tokens)
    ]


def _looks(panel: Tensor, rows: list[str], columns: list[str], words: dict[str, str]) -> str:
    """What each query looks at most: one key, or several that get the same."""
    parts = []
    for name, row in zip(rows, panel.tolist(), strict=True):
        most, ties = two_decimals(max(row)), highest(row)
        if not any(row):
            parts.append(words["sees nothing"].format(name))
        elif 2 < len(ties) == len(row):
            parts.append(words["look at all"].format(name, len(row), most))
        else:
            how = "look" if len(ties) == 1 else "look at several"
            parts.append(words[how].format(name, listed([columns[i] for i in ties], words), most))
    return words["semicolon"].join(parts)


def _strongest(panel: Tensor, rows: list[str], columns: list[str], words: dict[str, str]) -> str:
    """Where the largest number of the map stands, or the several that are as large."""
    numbers = panel.flatten().tolist()
    most, ties = two_decimals(max(numbers)), highest(numbers)
    if 1 < len(ties) == len(numbers):
        return words["alike"].format(most)
    if len(rows) == len(columns) > 1 and ties == list(range(0, len(numbers), len(columns) + 1)):
        return words["diagonal"].format(most)
    places = [divmod(i, len(columns)) for i in ties]
    named = [words["at"].format(rows[row], columns[column]) for row, column in places]
    how = "strongest" if len(ties) == 1 else "strongest are"
    return words[how].format(listed(named, words), most)


def _labels(panels: Tensor, kind: str, words: dict[str, str]) -> list[str]:
    """What each map is called; one alone needs no name."""
    count = len(panels)
    return [words[kind].format(i, count) for i in range(1, count + 1)] if count > 1 else [""]


def _alt(
    title: str,
    panels: Tensor,
    labels: list[str],
    tell: Callable[[Tensor], str],
    words: dict[str, str],
) -> str:
    sentences = []
    for label, panel in zip(labels, panels, strict=True):
        which = words["comma"].join([title, label] if label else [title])
        sentences.append(which + words["colon"] + tell(panel))
    return "".join(sentence + words["stop"] for sentence in sentences).strip()


def _width(text: str) -> float:
    """About how wide the text is at 12 pixels: a Chinese character is as wide as it is high."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return 12 * wide + 7 * (len(text) - wide)


def _grid(
    panels: Tensor,
    rows: list[str],
    columns: list[str],
    labels: list[str],
    names: tuple[str, str],
    told: Callable[[float], str],
) -> Canvas:
    """The panels side by side, as many in a row as stay readable.

    names: what goes down and what goes across; told: a number as it stands in its cell.
    """
    cell_width, cell_height = cell_size(len(columns)), cell_size(len(rows))
    width, height = cell_width * len(columns), cell_height * len(rows)
    every_column, every_row = math.ceil(13 / cell_width), math.ceil(13 / cell_height)
    said = [(i * cell_width, columns[i]) for i in range(0, len(columns), every_column)]
    said = [(at, name) for at, name in said if name]
    longest = max((_width(name) for _, name in said), default=0.0)
    room = min((there - here for (here, _), (there, _) in itertools.pairwise(said)), default=width)
    annotated = len(columns) <= 8
    slanted, upright = longest > room and annotated, longest > room and not annotated
    widest = max(map(_width, rows))
    left = max(widest + 34, 0.7 * longest if slanted else 0)
    top = 30 if any(labels) else 10
    deepest = 0.7 * longest + 12 if slanted else longest + 18 if upright else 24
    bottom = deepest + 28
    right = (0.0 if annotated else 55.0) + 10
    if upright:  # such names need little room: a phone then shows them larger
        cell_width = min(cell_width, max((PHONE - left - right) / len(columns), 13.0))
        width, every_column = cell_width * len(columns), math.ceil(13 / cell_width)
    across = min(len(panels), max(1, int(780 // (left + width + right))))
    down = math.ceil(len(panels) / across)
    across = math.ceil(len(panels) / down)  # two and two rather than three and one

    low, high = min(0.0, float(panels.min())), float(panels.max())
    canvas = canvas_of(across * (left + width + right), down * (top + height + bottom))
    for i, panel in enumerate(panels):
        x = i % across * (left + width + right) + left
        y = i // across * (top + height + bottom) + top
        axes = axes_at(canvas, x, y, width, height)
        paint(axes, panel, max(-low, high))
        if annotated:
            for row, column in itertools.product(range(len(rows)), range(len(columns))):
                text = told(float(panel[row, column]))
                axes.text(column, row, text, ha="center", va="center", fontsize=10)
        else:
            scale(canvas, x + width + 10, y, height, low, high)
        axes.set_xticks(range(0, len(columns), every_column), columns[::every_column])
        if slanted:
            for label in axes.get_xticklabels():
                label.set(rotation=45, ha="right", va="center", rotation_mode="anchor")
        if upright:
            for label in axes.get_xticklabels():
                label.set(rotation=90)
        axes.set_yticks(range(0, len(rows), every_row), rows[::every_row])
        axes.tick_params(length=0)
        # Placed by our own measure: matplotlib's font takes Chinese for narrower than it is.
        axes.set_xlabel(drawable(names[1]))
        axes.xaxis.set_label_coords(0.5, -deepest / height)
        axes.set_ylabel(drawable(names[0]))
        axes.yaxis.set_label_coords(-(widest + 12) / width, 0.5)
        axes.set_title(labels[i], fontsize=12, loc="left")
    return canvas
