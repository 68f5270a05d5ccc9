"""Figures: what the SVG holds, and that the alt text is true of the data."""

import base64
import io
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from PIL import Image

from headwise.drawing import plot
from headwise.drawing.plot import FULL, HUES, WORDS, Figure
from headwise.positional import sinusoidal

EN = ["The", "cat", "sat", "on"]
ZH = ["猫", "坐", "在", "垫子"]
WEIGHTS = torch.tensor(
    [
        [[0.7, 0.1, 0.1, 0.1], [0.2, 0.2, 0.41, 0.19], [0, 0, 0, 0], [0, 0, 0.5, 0.5]],
        [[0.1, 0.9, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.3, 0.3, 0.4, 0], [0, 0, 0, 1.0]],
    ]
)

FIGURES: dict[str, Callable[[], Figure]] = {
    "heat maps": lambda: plot.heatmap(WEIGHTS, EN),
    "heat maps in Chinese": lambda: plot.heatmap(WEIGHTS, ZH, lang="zh"),
    "large heat map": lambda: plot.heatmap(torch.eye(30)),
    "long tokens": lambda: plot.heatmap(
        torch.eye(2, 3), ["$x_1$", "<&>"], ["two hundred", '"', "]]>"]
    ),
    "mask": lambda: plot.mask_picture(torch.ones(4, 4).tril().bool(), EN),
    "masks in Chinese": lambda: plot.mask_picture(torch.ones(2, 1, 3, 3).bool(), lang="zh"),
    "mask that hides all": lambda: plot.mask_picture(torch.zeros(2, 2).bool()),
    "positions": lambda: plot.positions(sinusoidal(20, 16)),
    "lines": lambda: plot.lines({"训练": [3, 1]}, x_label="步数", y_label="损失", lang="zh"),
    "four lines": lambda: plot.lines(
        {name: [1.0, 10.0, 1000.0] for name in "abcd"},
        [0.1, 0.2, 0.4],
        x_label="x",
        y_label="y",
        log_y=True,
    ),
    "histogram": lambda: plot.histogram(
        {"a": torch.arange(9.0).view(3, 3), "b": [1, 1]}, x_label="scores", bins=5
    ),
}
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


def elements(figure: Figure) -> list[ET.Element]:
    return list(ET.fromstring(figure.svg).iter())


def texts(figure: Figure) -> list[str]:
    return [one.text or "" for one in elements(figure) if one.tag.endswith("}text")]


def cells(figure: Figure) -> list[Image.Image]:
    """The pictures inside the SVG: one a heat map, and one for a scale."""
    found = re.findall(r"data:image/png;base64,\s*([^\"]+)", figure.svg)
    return [Image.open(io.BytesIO(base64.b64decode(one))).convert("RGBA") for one in found]


@every_figure
def test_svg_says_what_it_is(make: Callable[[], Figure]) -> None:
    figure = make()
    root = ET.fromstring(figure.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == figure.alt
    assert root.get("lang") in WORDS
    assert root[0].tag.endswith("}title") and root[0].text and figure.alt.startswith(root[0].text)


@every_figure
def test_svg_takes_its_ink_from_the_page(make: Callable[[], Figure]) -> None:
    figure = make()
    assert ET.fromstring(figure.svg).get("fill") == "currentColor"
    colours = set(re.findall(r"(?:fill|stroke): (#\w+)", figure.svg))
    assert colours <= set(HUES.values())
    assert "font-family: " not in figure.svg and 'font-family="sans-serif"' in figure.svg
    ground = [one for one in elements(figure) if "fill: #ffffff" in one.get("style", "")]
    assert not ground


@every_figure
def test_svg_is_fit_to_stand_in_a_page(make: Callable[[], Figure]) -> None:
    figure = make()
    assert "<style" not in figure.svg and "<?xml" not in figure.svg and "metadata" not in figure.svg
    assert "xlink" not in figure.svg and "max-width: 100%" in figure.svg
    ids = re.findall(r'\bid="([^"]*)"', figure.svg)
    used = re.findall(r'(?:url\(|href=")#([^)"]*)', figure.svg)
    assert len(ids) == len(set(ids)) and set(ids) == set(used)


def test_ids_differ_from_figure_to_figure() -> None:
    ids = [id for make in FIGURES.values() for id in re.findall(r'\bid="([^"]*)"', make().svg)]
    assert len(ids) > 10
    assert len(ids) == len(set(ids))


@every_figure
def test_same_data_gives_the_same_bytes_whatever_the_settings(make: Callable[[], Figure]) -> None:
    first = make()
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": None, "text.color": "red"}):
        assert make() == first


@every_figure
def test_nothing_warns(make: Callable[[], Figure]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        make()
    assert not warned


def test_text_stays_text_in_both_languages() -> None:
    assert set(ZH) | {"查询", "键", "第 1 头（共 2 头）", "0.41"} <= set(
        texts(plot.heatmap(WEIGHTS, ZH, lang="zh"))
    )
    assert {"$x_1$", "<&>", "two hundred", "]]>"} <= set(texts(FIGURES["long tokens"]()))


def test_cells_are_as_opaque_as_their_weight() -> None:
    first, second = cells(plot.heatmap(WEIGHTS, EN))
    for picture, panel in ((first, WEIGHTS[0]), (second, WEIGHTS[1])):
        for row in range(4):
            for column in range(4):
                *colour, opacity = picture.getpixel((column, row))
                expected = FULL * panel[row, column].item() * 255
                assert opacity == pytest.approx(expected, abs=1)
                hue = [round(255 * part) for part in to_rgb(HUES["blue"])]
                assert opacity == 0 or colour == pytest.approx(hue, abs=2)


def test_large_map_has_a_scale_in_place_of_numbers() -> None:
    figure = plot.heatmap(torch.eye(30) / 2)
    assert len(cells(figure)) == 2
    assert {"0.00", "0.25", "0.50"} <= set(texts(figure))
    labels = [text for text in texts(figure) if text.isdigit()]
    assert labels == 2 * [str(i) for i in range(0, 30, 2)], "crowded labels are thinned out"


def test_labels_slant_only_where_they_are_wider_than_their_cells() -> None:
    assert FIGURES["long tokens"]().svg.count("rotate(-45 ") == 3
    assert "rotate(-45 " not in FIGURES["heat maps"]().svg


def test_labels_stay_level_where_few_are_said() -> None:
    places = [str(i) if i % 8 == 0 else "" for i in range(48)]
    assert "rotate(-45" not in plot.heatmap(torch.rand(48, 48), places).svg


def test_axes_of_a_map_can_be_named() -> None:
    figure = plot.heatmap(torch.rand(2, 2), axes=("p", "q"))
    assert {"p", "q"} <= set(texts(figure)) and "key" not in texts(figure)


def test_names_and_labels_of_lines_have_their_chinese() -> None:
    chinese = {"loss": "损失", "step": "步"}
    figure = plot.lines({"loss": [2.0, 1.0]}, x_label="step", y_label="MiB", zh=chinese)
    assert {"loss", "step", "MiB"} <= set(texts(figure))
    assert figure.twin and {"损失", "步", "MiB"} <= set(texts(figure.twin))
    assert "MiB随步的变化" in figure.twin.alt and "损失：" in figure.twin.alt
    assert "step" not in figure.twin.alt


def test_chart_is_drawn_for_a_phone() -> None:
    figure = plot.lines({"a": [1.0, 2.0]}, x_label="x", y_label="y")
    width = float(ET.fromstring(figure.svg).get("width", 0))
    assert 343 / width * 12 > 10  # on 375 pixels, less the margins, words of 12 are still read


def test_numbers_below_zero_have_another_hue() -> None:
    picture = cells(plot.positions(torch.tensor([[1.0, -1.0]])))[0]
    hues = [[round(255 * part) for part in to_rgb(HUES[hue])] for hue in ("blue", "orange")]
    for column, hue in enumerate(hues):
        assert list(picture.getpixel((column, 0)))[:3] == pytest.approx(hue, abs=2)


def test_alt_text_names_what_each_query_looks_at() -> None:
    assert plot.heatmap(WEIGHTS, EN).alt == (
        "Attention weights, head 1 of 2: 'The' looks most at 'The' (0.70); "
        "'cat' looks most at 'sat' (0.41); 'sat' sees nothing; 'on' looks most at 'sat' (0.50). "
        "Attention weights, head 2 of 2: 'The' looks most at 'cat' (0.90); "
        "'cat' looks most at 'The' (1.00); 'sat' looks most at 'sat' (0.40); "
        "'on' looks most at 'on' (1.00)."
    )
    assert plot.heatmap(WEIGHTS[0], ZH, lang="zh", title="第一层").alt == (
        "第一层：“猫”最关注“猫”（0.70）；“坐”最关注“在”（0.41）；“在”什么也看不到；“垫子”最关注“在”（0.50）。"
    )


def test_alt_text_of_many_rows_names_the_strongest() -> None:
    weights = torch.zeros(20, 20)
    weights[3, 17] = 0.5
    assert plot.heatmap(weights).alt == "Attention weights: strongest is '3' at '17' (0.50)."


def test_alt_text_tells_equal_tokens_apart() -> None:
    assert (
        "'a' [0] looks most at 'a' [2] (1.00)"
        in plot.heatmap(torch.tensor([[0, 0, 1.0], [0, 1, 0], [1, 0, 0]]), ["a", "b", "a"]).alt
    )


def test_alt_text_of_a_mask_counts_what_is_seen() -> None:
    mask = torch.tensor([[True, False], [True, True]])
    assert plot.mask_picture(mask, ["猫", "坐"], lang="zh").alt == (
        "掩码（1、填色：可见）：“猫”能看到 1 个，共 2 个；“坐”能看到 2 个，共 2 个。"
    )
    two = plot.mask_picture(torch.stack((mask, ~mask))[:, None])
    assert "sample 2 of 2: '0' sees 1 of 2; '1' sees 0 of 2." in two.alt


def test_alt_text_of_positions_counts_sign_changes() -> None:
    encoding = torch.tensor([[1.0, 0.5], [-1.0, 0.5], [1.0, -0.25]])
    assert plot.positions(encoding).alt == (
        "Positional encoding: 3 positions by 2 columns, values from -1.00 to 1.00; "
        "going down a column the sign changes 2 times in the first and 1 times in the last."
    )


def test_alt_text_of_lines_gives_ends_and_extremes() -> None:
    figure = plot.lines({"loss": [3, 0.5, 4, 1]}, x_label="step", y_label="loss")
    assert figure.alt == (
        "loss against step. loss: 3 at 0, 1 at 3; lowest 0.5 at 1, highest 4 at 2."
    )


def test_alt_text_of_a_histogram_gives_the_spread() -> None:
    figure = plot.histogram({"a": [1.0, 3.0, 5.0]}, x_label="scores")
    assert figure.alt == (
        "Histogram of scores. a: 3 values from 1 to 5, mean 3, standard deviation 1.63."
    )


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 9), (1, 9, 1)])
def test_any_size_can_be_drawn(shape: tuple[int, int, int]) -> None:
    figure = plot.heatmap(torch.rand(shape))
    assert texts(figure).count("query") == shape[0]


@settings(max_examples=20)
@given(st.text(min_size=1, max_size=3))
def test_any_token_can_be_drawn(token: str) -> None:
    shown = token if token.isprintable() else ascii(token)[1:-1]
    figure = plot.heatmap(torch.ones(1, 1), [token], ["key"])
    assert shown in texts(figure) or not shown.strip()


def test_notebook_shows_the_svg_and_has_the_alt_text() -> None:
    figure = plot.heatmap(WEIGHTS, EN)
    bundle = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == figure.svg and bundle["text/plain"] == figure.alt


def test_saved_file_is_the_svg(tmp_path: Path) -> None:
    figure = plot.heatmap(WEIGHTS, ZH, lang="zh")
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == figure.svg + "\n"


def test_own_matplotlib_figure_is_made_fit_as_well() -> None:
    canvas = Canvas()
    axes = canvas.add_subplot()
    axes.plot([0, 1], "ko-")
    axes.set_title("猫")
    figure = plot.from_matplotlib(canvas, title="Mine", alt="A line that rises.")
    assert figure.alt == "A line that rises."
    assert "猫" in texts(figure)
    assert "#000000" not in figure.svg


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The ratio that WCAG defines: 3 is enough for lines, 4.5 for text."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(colour: tuple[float, ...], ground: tuple[float, ...], share: float) -> tuple[float, ...]:
    return tuple(share * c + (1 - share) * g for c, g in zip(colour, ground, strict=True))


# The grounds and inks of Material for MkDocs, light (default) and dark (slate).
GROUNDS = {"light": ("#ffffff", "#000000", 0.87), "dark": ("#1e2129", "#e2e4e9", 0.82)}


@pytest.mark.parametrize("hue", HUES.values(), ids=HUES)
@pytest.mark.parametrize(("ground", "ink", "share"), GROUNDS.values(), ids=GROUNDS)
def test_hues_read_on_light_and_dark(hue: str, ground: str, ink: str, share: float) -> None:
    under = to_rgb(ground)
    assert contrast(to_rgb(hue), under) >= 3
    cell = mixed(to_rgb(hue), under, FULL)
    assert contrast(mixed(to_rgb(ink), cell, share), cell) >= 4.5


def test_importing_the_library_does_not_import_matplotlib() -> None:
    code = "import headwise, headwise.transformer, headwise.trace, headwise.museum, sys; "
    code += "sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_both_languages_have_the_same_words() -> None:
    assert WORDS["zh"].keys() == WORDS["en"].keys()
    for key, word in WORDS["en"].items():
        assert word.count("{") == WORDS["zh"][key].count("{"), key


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.heatmap(WEIGHTS, lang="fr"), "lang: got 'fr', expected one of"),
        (lambda: plot.heatmap(WEIGHTS[None]), r"weights: got shape \(1, 2, 4, 4\)"),
        (lambda: plot.heatmap(torch.zeros(0, 4)), r"weights: got shape \(0, 4\)"),
        (lambda: plot.heatmap(WEIGHTS / 0), "weights: got numbers that are not finite"),
        (lambda: plot.heatmap(WEIGHTS, ["a"]), "queries: got 1 tokens, expected 4"),
        (lambda: plot.heatmap(WEIGHTS, EN, ["a"]), "keys: got 1 tokens, expected 4"),
        (lambda: plot.mask_picture(WEIGHTS), "mask: got dtype torch.float32"),
        (lambda: plot.mask_picture(torch.ones(2, 3, 4, 4).bool()), r"mask: got shape \(2, 3, 4"),
        (lambda: plot.positions(WEIGHTS), r"encoding: got shape \(2, 4, 4\), expected \(seq_len"),
        (lambda: plot.lines({}, x_label="x", y_label="y"), "series: got 0, expected 1 to 4"),
        (
            lambda: plot.lines({"a": [1.0]}, [1.0, 2.0], x_label="x", y_label="y"),
            "series: got 1 values for 'a', expected 2",
        ),
        (
            lambda: plot.lines({"a": [0.0]}, x_label="x", y_label="y", log_y=True),
            "series: got 0.0 in 'a', expected numbers above 0",
        ),
        (lambda: plot.histogram({"a": []}, x_label="x"), "series: got 0 numbers"),
        (lambda: plot.histogram({"a": [1.0]}, x_label="x", bins=0), "bins: got 0"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_figure_brings_its_twin_in_the_other_language() -> None:
    weights = torch.eye(3)
    chinese = plot.heatmap(weights, lang="zh")
    english = plot.heatmap(weights)
    assert (chinese.lang, english.lang) == ("zh", "en")
    assert chinese.twin == replace(english, twin=None)
    assert english.twin == replace(chinese, twin=None)
    bundle = english._repr_mimebundle_()
    assert bundle["application/vnd.headwise.twin+json"]["svg"] == chinese.svg
    assert set(chinese.twin._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}
