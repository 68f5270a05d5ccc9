"""Heat maps of weights and pictures of masks, with what each query looks at in words."""

import itertools
import math
import unicodedata
from collections.abc import Callable, Sequence

import torch
from matplotlib.figure import Figure as Canvas
from torch import Tensor

from headwise.drawing.cells import cell_size, paint, panels_of, scale
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.from_matplotlib import axes_at, canvas_of, from_matplotlib, style
from headwise.drawing.words import choose

WORDS = {
    "en": {
        "weights": "Attention weights",
        "head": "head {} of {}",
        "look": "{} looks most at {} ({:.2f})",
        "sees nothing": "{} sees nothing",
        "strongest": "strongest is {} at {} ({:.2f})",
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
        "look": "{}最关注{}（{:.2f}）",
        "sees nothing": "{}什么也看不到",
        "strongest": "最强的是{}对{}（{:.2f}）",
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
    labels = _labels(panels, "head", words) if names is None else list(names)
    if len(labels) != len(panels):
        raise ValueError(f"names: got {len(labels)}, expected {len(panels)}")
    # A map with a name may hold other numbers than weights: no query looks at anything then.
    brief = names is not None or panels.size(0) * panels.size(1) > 16

    def tell(panel: Tensor) -> str:
        return _looks(panel, _quoted(rows, words), _quoted(columns, words), words, brief)

    title = title or words["weights"]
    alt = _alt(title, panels, labels, tell, words)
    with style():
        canvas = _grid(
            panels, rows, columns, labels, "{:.2f}", axes or (words["query"], words["key"])
        )
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
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: got dtype {mask.dtype}, expected torch.bool, True = may be seen")
    panels = panels_of("mask", mask.squeeze(1) if mask.dim() == 4 else mask)
    rows, columns = _tokens(panels, queries, keys)

    def tell(panel: Tensor) -> str:
        seen = [int(row.sum()) for row in panel]
        names = zip(_quoted(rows, words), seen, strict=True)
        return words["semicolon"].join(
            words["sees"].format(row, count, len(columns)) for row, count in names
        )

    title = title or words["mask"]
    labels = _labels(panels, "sample", words)
    alt = _alt(title, panels, labels, tell, words)
    with style():
        canvas = _grid(panels, rows, columns, labels, "{:.0f}", (words["query"], words["key"]))
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


def _tokens(
    panels: Tensor, queries: Sequence[str] | None, keys: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    _, rows, columns = panels.shape
    if keys is None and rows == columns:
        keys = queries
    tokens = []
    for name, given, count in (("queries", queries, rows), ("keys", keys, columns)):
        if given is not None and len(given) != count:
            raise ValueError(f"{name}: got {len(given)} tokens, expected {count}")
        # A line break or the like cannot stand in a picture, but its \n can.
        tokens.append(
            [t if t.isprintable() else ascii(t)[1:-1] for t in given or map(str, range(count))]
        )
    return tokens[0], tokens[1]


def _quoted(tokens: list[str], words: dict[str, str]) -> list[str]:
    """Each token in quotation marks, with its position where the same token comes again."""
    return [
        words["quote"].format(token) + (f" [{i}]" if tokens.count(token) > 1 else "")
        for i, token in enumerate(tokens)
    ]


def _looks(
    panel: Tensor, rows: list[str], columns: list[str], words: dict[str, str], brief: bool
) -> str:
    if brief:
        row, column = divmod(int(panel.argmax()), len(columns))
        return words["strongest"].format(rows[row], columns[column], float(panel.max()))
    parts = []
    for name, row in zip(rows, panel, strict=True):
        if row.any():
            best = int(row.argmax())
            parts.append(words["look"].format(name, columns[best], float(row[best])))
        else:
            parts.append(words["sees nothing"].format(name))
    return words["semicolon"].join(parts)


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
    number: str,
    axes_names: tuple[str, str],
) -> Canvas:
    """The panels side by side, as many in a row as stay readable."""
    cell_width, cell_height = cell_size(len(columns)), cell_size(len(rows))
    width, height = cell_width * len(columns), cell_height * len(rows)
    every_column, every_row = math.ceil(13 / cell_width), math.ceil(13 / cell_height)
    said = [(i * cell_width, columns[i]) for i in range(0, len(columns), every_column)]
    said = [(at, name) for at, name in said if name]
    longest = max((_width(name) for _, name in said), default=0.0)
    room = min((there - here for (here, _), (there, _) in itertools.pairwise(said)), default=width)
    slanted = longest > room
    widest = max(map(_width, rows))
    left = max(widest + 34, 0.7 * longest if slanted else 0)
    top = 30 if any(labels) else 10
    deepest = 0.7 * longest + 12 if slanted else 24
    bottom = deepest + 28
    annotated = len(columns) <= 8
    right = (0.0 if annotated else 55.0) + 10
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
                text = number.format(float(panel[row, column]))
                axes.text(column, row, text, ha="center", va="center", fontsize=10)
        else:
            scale(canvas, x + width + 10, y, height, low, high)
        axes.set_xticks(range(0, len(columns), every_column), columns[::every_column])
        if slanted:
            for label in axes.get_xticklabels():
                label.set(rotation=45, ha="right", va="center", rotation_mode="anchor")
        axes.set_yticks(range(0, len(rows), every_row), rows[::every_row])
        axes.tick_params(length=0)
        # Placed by our own measure: matplotlib's font takes Chinese for narrower than it is.
        axes.set_xlabel(axes_names[1])
        axes.xaxis.set_label_coords(0.5, -deepest / height)
        axes.set_ylabel(axes_names[0])
        axes.yaxis.set_label_coords(-(widest + 12) / width, 0.5)
        axes.set_title(labels[i], fontsize=12, loc="left")
    return canvas
