"""The site's figures: heat maps, masks, positions, lines and histograms, each with its alt text.

Every function returns a Figure: an SVG that takes its ink from the page (currentColor), so that
it reads on a light and on a dark ground, and an alt text made from the same numbers. Nothing
needs a display, and no other module of the library imports matplotlib.
"""

import hashlib
import io
import itertools
import math
import re
import unicodedata
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FormatStrFormatter, NullFormatter
from torch import Tensor

from headwise._check import check_sizes, show

P = ParamSpec("P")

# Hues of middling lightness: each stands out from white and from near-black alike.
HUES = {"blue": "#2f7fd0", "orange": "#c8642c", "green": "#2b8a57", "purple": "#a05bc0"}
# The share of the hue in a full cell. The ground shows through the rest, so that a number written
# in the page's own ink stays readable on it.
FULL = 0.55
DASHES = ("solid", "dashed", "dotted", "dashdot")

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
        "encoding": "Positional encoding",
        "position": "position",
        "column": "column",
        "pattern": "{} positions by {} columns, values from {:.2f} to {:.2f}; going down a "
        "column the sign changes {} times in the first and {} times in the last",
        "chart": "{1} against {0}",
        "line": "{}: {} at {}, {} at {}; lowest {} at {}, highest {} at {}",
        "histogram": "Histogram of {}",
        "count": "count",
        "spread": "{}: {} values from {} to {}, mean {}, standard deviation {}",
        "quote": "'{}'",
        "comma": ", ",
        "colon": ": ",
        "semicolon": "; ",
        "stop": ". ",
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
        "encoding": "位置编码",
        "position": "位置",
        "column": "列",
        "pattern": "{} 个位置，{} 列，取值从 {:.2f} 到 {:.2f}；"
        "沿列向下，第一列变号 {} 次，最后一列变号 {} 次",
        "chart": "{1}随{0}的变化",
        "line": "{}：起点 {}（在 {}），终点 {}（在 {}）；最低 {}（在 {}），最高 {}（在 {}）",
        "histogram": "{}的直方图",
        "count": "个数",
        "spread": "{}：{} 个值，从 {} 到 {}，均值 {}，标准差 {}",
        "quote": "“{}”",
        "comma": "，",
        "colon": "：",
        "semicolon": "；",
        "stop": "。",
    },
}


@dataclass(frozen=True)
class Figure:
    """A finished picture: its SVG, and what it shows in words.

    In a notebook it appears as the SVG, and as the words where there are no pictures. Its twin
    is the same picture in the other language, so that one run serves a notebook in both.
    """

    svg: str
    alt: str
    lang: str = "en"
    twin: "Figure | None" = None

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file."""
        Path(path).write_text(self.svg + "\n", encoding="utf-8")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"image/svg+xml": self.svg, "text/plain": self.alt}
        if self.twin:
            twin = {"lang": self.twin.lang, "svg": self.twin.svg, "alt": self.twin.alt}
            bundle["application/vnd.headwise.twin+json"] = twin
        return bundle


def with_twin(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw the figure a second time, in the other language, as the first one's twin."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        figure = draw(*args, **kwargs)
        kwargs["lang"] = "en" if figure.lang == "zh" else "zh"
        return replace(figure, twin=draw(*args, **kwargs))

    return drawn


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
    panels = _panels("weights", weights)
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
    with _style():
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
    panels = _panels("mask", mask.squeeze(1) if mask.dim() == 4 else mask)
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
    with _style():
        canvas = _grid(panels, rows, columns, labels, "{:.0f}", (words["query"], words["key"]))
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


@with_twin
def positions(encoding: Tensor, *, title: str | None = None, lang: str = "en") -> Figure:
    """The pattern of a positional encoding (seq_len, d_model): blue above zero, orange below."""
    words = choose(WORDS, lang)
    panel = _panels("encoding", encoding)[0]
    if encoding.dim() != 2:
        raise ValueError(f"encoding: got shape {show(encoding.shape)}, expected (seq_len, d_model)")
    seq_len, d_model = panel.shape
    flips = (panel[1:] * panel[:-1] < 0).sum(0)
    low, high = float(panel.min()), float(panel.max())
    pattern = words["pattern"].format(seq_len, d_model, low, high, int(flips[0]), int(flips[-1]))

    title = title or words["encoding"]
    with _style():
        width, height = 218.0, seq_len * _cell(seq_len)  # a whole that fits a phone
        canvas = _canvas(width + 122, height + 60)
        axes = _axes(canvas, 55, 12, width, height)
        _paint(axes, panel, float(panel.abs().max()))
        axes.set_xlabel(words["column"])
        axes.set_ylabel(words["position"])
        _scale(canvas, 55 + width + 15, 12, height, low, high)
        alt = title + words["colon"] + pattern + words["stop"].strip()
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


@with_twin
def lines(
    series: Mapping[str, Sequence[float] | Tensor],
    x: Sequence[float] | Tensor | None = None,
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    log_y: bool = False,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """One line for each named series, told apart by colour and by dashes.

    series: name to values (n,); x: where they stand, (n,), by default 0, 1, 2, …
    zh: what the names and the labels are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    if lang == "zh" and zh:
        series = {zh.get(name, name): line for name, line in series.items()}
        x_label, y_label = zh.get(x_label, x_label), zh.get(y_label, y_label)
    values = _series(series)
    at = _numbers("x", range(max(map(len, values.values()))) if x is None else x)
    for name, line in values.items():
        if len(line) != len(at):
            raise ValueError(f"series: got {len(line)} values for {name!r}, expected {len(at)}")
        if log_y and min(line) <= 0:
            raise ValueError(f"series: got {min(line)} in {name!r}, expected numbers above 0")

    def tell(name: str, line: list[float]) -> str:
        points = list(zip(line, at, strict=True))
        ends = (points[0], points[-1], min(points), max(points))
        return words["line"].format(name, *(f"{number:.3g}" for point in ends for number in point))

    title = title or words["chart"].format(x_label, y_label)
    with _style():
        canvas, axes = _chart(len(values), x_label, y_label)
        for (name, line), colour, dash in zip(values.items(), HUES.values(), DASHES, strict=False):
            axes.plot(at, line, color=colour, linestyle=dash, linewidth=2, label=name)
        if log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        return _finish(canvas, title, values, tell, lang)


@with_twin
def histogram(
    series: Mapping[str, Sequence[float] | Tensor],
    *,
    x_label: str,
    bins: int = 40,
    title: str | None = None,
    lang: str = "en",
) -> Figure:
    """How the numbers of each named series spread, over bins that all series share.

    series: name to values, of any shape.
    """
    words = choose(WORDS, lang)
    check_sizes(bins=bins)
    values = _series(series)
    everything = [number for numbers in values.values() for number in numbers]

    def tell(name: str, numbers: list[float]) -> str:
        mean = math.fsum(numbers) / len(numbers)
        deviation = math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))
        told = (f"{n:.3g}" for n in (min(numbers), max(numbers), mean, deviation))
        return words["spread"].format(name, len(numbers), *told)

    title = title or words["histogram"].format(x_label)
    with _style():
        canvas, axes = _chart(len(values), x_label, words["count"])
        bounds = (min(everything), max(everything))
        for (name, numbers), colour, dash in zip(
            values.items(), HUES.values(), DASHES, strict=False
        ):
            axes.hist(
                numbers,
                bins=bins,
                range=bounds,
                histtype="step",
                color=colour,
                linestyle=dash,
                linewidth=2,
                label=name,
            )
        return _finish(canvas, title, values, tell, lang)


def from_matplotlib(canvas: Canvas, *, title: str, alt: str, lang: str = "en") -> Figure:
    """A matplotlib figure as the site shows it: small, deterministic, black turned into ink.

    Text stays text in the reader's own sans-serif, so Chinese needs no font here. Ids are hashed
    from the content, so that many figures fit on one page.
    """
    choose(WORDS, lang)
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with _style(), warnings.catch_warnings():
        # The browser's fonts draw the text, so what matplotlib's own font lacks is no loss.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas.savefig(buffer, format="svg", transparent=True, metadata=nothing)

    root = ET.fromstring(buffer.getvalue())
    salt = hashlib.sha256(f"{lang}\n{title}\n{alt}\n{buffer.getvalue()}".encode()).hexdigest()[:10]
    _clean(root, salt)
    size = root.attrib["viewBox"].split()[2:]
    return finished(root, size[0], size[1], title=title, alt=alt, lang=lang)


def finished(
    root: ET.Element, width: str, height: str, *, title: str, alt: str, lang: str
) -> Figure:
    """The drawing as a Figure: with its size, its words, and the page's ink by default."""
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": alt,
        "lang": lang,
        "fill": "currentColor",
        "font-family": "sans-serif",
        "font-size": "12px",
        "stroke-linejoin": "round",
        "style": "max-width: 100%; height: auto",
    }
    # No desc element beside the label: a screen reader would say the same words twice.
    name = ET.Element("title")
    name.text = title
    root.insert(0, name)
    return Figure(ET.tostring(root, encoding="unicode"), alt, lang)


def _clean(root: ET.Element, salt: str) -> None:
    """Drop what a page cannot use, and make what stays short and its own."""
    markup = ET.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', markup))
    for parent in root.iter():
        for child in list(parent):
            # A style element would reach every other element on the page.
            if child.tag.endswith("}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        element.tail = None
        if element.tag not in ("text", "tspan"):
            element.text = None
        attributes = {key.split("}")[-1]: value for key, value in element.attrib.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        for key, value in attributes.items():
            if key in ("d", "x", "y", "transform"):
                value = re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.2f}", " ".join(value.split()))
            elif key == "id":
                value = f"hw-{salt}-{value}"
            elif key == "href":
                value = re.sub("^#", f"#hw-{salt}-", value)
            elif key == "style":
                value = re.sub("font-family: [^;]*(; |$)|font-size: 12px(; |$)", "", value)
                value = value.replace("#000000", "currentColor")
            attributes[key] = value.replace("url(#", f"url(#hw-{salt}-")
        if attributes.get("transform", "").startswith("rotate(-0 "):
            del attributes["transform"]
        element.attrib = attributes
    _flatten(root)


def _flatten(element: ET.Element) -> None:
    """Take out groups that group nothing, and what cannot be seen: half of the bytes."""
    kept: list[ET.Element] = []
    for child in element:
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            kept += child
        elif (child.attrib.get("style") != "fill: none" and child.tag != "defs") or len(child):
            kept.append(child)
    element[:] = kept


@contextmanager
def _style() -> Iterator[None]:
    """Matplotlib's defaults, whatever the machine's own settings, with text kept as text."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "headwise",
                "font.size": 12,
                "text.parse_math": False,  # a token may be a dollar sign
                "axes.spines.top": False,
                "axes.spines.right": False,
            }
        )
        yield


def choose(words: Mapping[str, dict[str, str]], lang: str) -> dict[str, str]:
    """The words of one language."""
    if lang not in words:
        raise ValueError(f"lang: got {lang!r}, expected one of {sorted(words)}")
    return words[lang]


def _panels(name: str, x: Tensor) -> Tensor:
    """(panel, row, column) from two or three axes, as numbers that can be drawn."""
    if x.dim() not in (2, 3) or x.numel() == 0:
        raise ValueError(
            f"{name}: got shape {show(x.shape)}, expected two or three axes, not empty"
        )
    panels = (x if x.dim() == 3 else x[None]).detach().double().cpu()
    if not panels.isfinite().all():
        raise ValueError(f"{name}: got numbers that are not finite, expected finite ones")
    return panels


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


def _numbers(name: str, values: Sequence[float] | Tensor) -> list[float]:
    numbers = torch.as_tensor(values, dtype=torch.float64).detach().flatten().tolist()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name}: got {len(numbers)} numbers, expected at least one, all finite")
    return [float(number) for number in numbers]


def _series(series: Mapping[str, Sequence[float] | Tensor]) -> dict[str, list[float]]:
    if not 1 <= len(series) <= len(HUES):
        raise ValueError(f"series: got {len(series)}, expected 1 to {len(HUES)}")
    return {name: _numbers("series", values) for name, values in series.items()}


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


def _cell(count: int) -> float:
    return min(34.0, max(320 / count, 4.0))


def _canvas(width: float, height: float) -> Canvas:
    return Canvas(figsize=(width / 72, height / 72))  # matplotlib draws 72 pixels to the inch


def _axes(canvas: Canvas, left: float, top: float, width: float, height: float) -> Axes:
    """Axes whose place is given in pixels from the upper left corner."""
    whole_width, whole_height = canvas.get_size_inches() * 72
    return canvas.add_axes(
        (
            left / whole_width,
            1 - (top + height) / whole_height,
            width / whole_width,
            height / whole_height,
        )
    )


def _paint(
    axes: Axes,
    panel: Tensor,
    most: float,
    extent: tuple[float, float, float, float] | None = None,
) -> None:
    """Fill the cells: the larger the number, the less of the ground shows through."""
    blue, orange = (torch.tensor(matplotlib.colors.to_rgb(HUES[hue])) for hue in ("blue", "orange"))
    colour = torch.where(panel[..., None] < 0, orange, blue).double()
    opacity = FULL * panel.abs() / (most or 1.0)
    cells = torch.cat([colour, opacity[..., None]], dim=-1)  # (rows, columns, 4)
    axes.imshow(cells.numpy(), interpolation="none", aspect="auto", extent=extent)


def _scale(canvas: Canvas, left: float, top: float, height: float, low: float, high: float) -> None:
    """A strip that says which colour is which number."""
    axes = _axes(canvas, left, top, 12, height)
    strip = torch.linspace(high, low, 64, dtype=torch.float64)[:, None]
    _paint(axes, strip, max(abs(low), abs(high)), (0.0, 1.0, low, high))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.set_yticks([low, (low + high) / 2, high])
    axes.yaxis.set_major_formatter(FormatStrFormatter("%.2f"))


def _grid(
    panels: Tensor,
    rows: list[str],
    columns: list[str],
    labels: list[str],
    number: str,
    axes_names: tuple[str, str],
) -> Canvas:
    """The panels side by side, as many in a row as stay readable."""
    cell_width, cell_height = _cell(len(columns)), _cell(len(rows))
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
    canvas = _canvas(across * (left + width + right), down * (top + height + bottom))
    for i, panel in enumerate(panels):
        x = i % across * (left + width + right) + left
        y = i // across * (top + height + bottom) + top
        axes = _axes(canvas, x, y, width, height)
        _paint(axes, panel, max(-low, high))
        if annotated:
            for row, column in itertools.product(range(len(rows)), range(len(columns))):
                text = number.format(float(panel[row, column]))
                axes.text(column, row, text, ha="center", va="center", fontsize=10)
        else:
            _scale(canvas, x + width + 10, y, height, low, high)
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


def _chart(count: int, x_label: str, y_label: str) -> tuple[Canvas, Axes]:
    """Empty axes for lines, with room above for one line of legend each."""
    legend = 18 * count + 8
    canvas = _canvas(390, 250 + legend)  # a phone shrinks it by a tenth
    axes = _axes(canvas, 64, legend, 310, 200)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return canvas, axes


def _finish(
    canvas: Canvas,
    title: str,
    values: dict[str, list[float]],
    tell: Callable[[str, list[float]], str],
    lang: str,
) -> Figure:
    """The chart with its legend and its alt text."""
    words = choose(WORDS, lang)
    axes = canvas.axes[0]
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0)
    told = (tell(name, numbers) + words["stop"] for name, numbers in values.items())
    alt = (title + words["stop"] + "".join(told)).strip()
    return from_matplotlib(canvas, title=title, alt=alt, lang=lang)
