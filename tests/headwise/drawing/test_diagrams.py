"""Diagrams: that they say what the run has done, fit a phone, and speak both languages."""

import inspect
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from headwise.drawing import diagrams
from headwise.drawing.diagrams import WIDTH, WORDS
from headwise.drawing.plot import HUES, Figure
from headwise.heads import merge_heads, split_heads
from headwise.layers import EncoderLayer
from headwise.masks import causal_mask, combine, padding_mask
from headwise.multi_head import MultiHeadAttention
from headwise.single_head import LinearHead, ParameterHead
from headwise.trace import Step, Trace, trace
from headwise.transformer import Transformer
from headwise.variants import ParameterOnly


def model(num_layers: int = 3) -> Transformer:
    torch.manual_seed(0)
    return Transformer(11, 13, d_model=8, num_heads=2, num_layers=num_layers).eval()


def labels(seq_len: int, d_model: int) -> Tensor:
    """Numbers of which no two are the same."""
    return torch.arange(seq_len * d_model).view(1, seq_len, d_model)


DRAW = torch.Generator().manual_seed(0)
SRC = torch.randint(1, 11, (2, 7), generator=DRAW)
TGT = torch.randint(1, 13, (2, 5), generator=DRAW)
FIGURES: dict[str, Callable[[], Figure]] = {
    "one head": lambda: diagrams.flow(trace(ParameterHead(32), torch.randn(2, 5, 32))),
    "many heads": lambda: diagrams.flow(trace(ParameterOnly(32, 4), torch.randn(2, 5, 32))),
    "split": lambda: diagrams.split(labels(3, 8), 2),
    "merge": lambda: diagrams.merge(split_heads(labels(3, 4), 2)),
    "packed": lambda: diagrams.packed(nn.MultiheadAttention(32, 4)),
    "masks": lambda: diagrams.masks({"causal": causal_mask(5), "all": causal_mask(1, 5)}),
    "attentions": lambda: diagrams.attentions(model(), SRC, TGT),
    "decoding": lambda: diagrams.decoding(model(), SRC[:1], 6, 1, 2),
    "norms": lambda: diagrams.norms(
        EncoderLayer(8, 2), EncoderLayer(8, 2, norm_first=True), torch.randn(1, 3, 8)
    ),
    "gradients": lambda: diagrams.gradients({"a": torch.tensor([1e-9, 0.5, 1.0])}, [0, 1, 2]),
}
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


def elements(figure: Figure, tag: str) -> list[ET.Element]:
    return [one for one in ET.fromstring(figure.svg) if one.tag.endswith("}" + tag)]


def texts(figure: Figure) -> list[str]:
    return [one.text or "" for one in elements(figure, "text")]


def cells(figure: Figure) -> list[tuple[str, str]]:
    """Each number that stands in a frame, with the colour of the frame."""
    children = list(ET.fromstring(figure.svg))
    return [
        (text.text or "", box.get("fill") or "")
        for box, text in pairwise(children)
        if box.tag.endswith("rect") and text.tag.endswith("text")
    ]


@every_figure
def test_svg_has_its_words_and_its_language(make: Callable[[], Figure]) -> None:
    figure = make()
    root = ET.fromstring(figure.svg)
    assert (root.get("role"), root.get("aria-label"), root.get("lang")) == ("img", figure.alt, "en")
    assert root[0].text and figure.alt.startswith(root[0].text)
    assert figure.alt.endswith(".") and "{" not in figure.alt


@every_figure
def test_twin_is_the_same_drawing_in_chinese(make: Callable[[], Figure]) -> None:
    figure = make()
    twin = figure.twin
    assert twin and twin.lang == "zh" and re.search("[一-鿿]", twin.alt)
    assert not re.search("[一-鿿]", figure.svg)
    for tag in ("rect", "path"):
        assert [e.attrib for e in elements(figure, tag)] == [e.attrib for e in elements(twin, tag)]
    assert re.findall(r"\d+", figure.alt) == re.findall(r"\d+", twin.alt) or make in (
        FIGURES["many heads"],  # the order of words differs
    )


def test_both_languages_have_the_same_words() -> None:
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    for name, words in WORDS["en"].items():
        assert words.count("{") == WORDS["zh"][name].count("{"), name


def test_every_word_is_used() -> None:
    source = inspect.getsource(diagrams).split("class _Sheet")[1]
    assert [name for name in WORDS["en"] if f'"{name}"' not in source] == []


@every_figure
def test_ink_is_the_pages_own(make: Callable[[], Figure]) -> None:
    svg = make().svg
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg))
    assert colours <= {"none", "currentColor", *HUES.values()}
    assert "<style" not in svg and ' id="' not in svg and "href" not in svg


@every_figure
def test_same_run_gives_the_same_bytes(make: Callable[[], Figure]) -> None:
    assert make().svg == make().svg


@every_figure
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_everything_fits_on_a_phone(make: Callable[[], Figure], lang: str) -> None:
    figure = make()
    figure = figure if lang == "en" else figure.twin or figure
    root = ET.fromstring(figure.svg)
    height = float(root.get("height", 0))
    assert float(root.get("width", 0)) == WIDTH <= 343
    for box in elements(figure, "rect"):
        x, y, wide, high = (float(box.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert x >= 0 and x + wide <= WIDTH and y >= 0 and y + high <= height
    for text in elements(figure, "text"):
        size, x = float(text.get("font-size", 0)), float(text.get("x", 0))
        words = text.text or ""
        wide = sum(size if ord(sign) > 0x2E80 else 0.55 * size for sign in words)
        start = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "")]
        assert size >= 11 and start >= 0 and start + wide <= WIDTH, words
        assert size / 2 < float(text.get("y", 0)) < height


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="lang: got 'fr'"):
        diagrams.split(labels(3, 4), 2, lang="fr")


# Data flow.


@pytest.mark.parametrize("head", [ParameterHead(6), LinearHead(6)])
def test_one_head_shows_the_shapes_of_its_trace(head: torch.nn.Module) -> None:
    figure = diagrams.flow(trace(head, torch.randn(3, 5, 6)))
    shown = [text for text in texts(figure) if text.startswith("(")]
    assert shown == ["(3, 5, 6)"] * 4 + ["(3, 5, 5)"] * 2 + ["(3, 5, 6)"] * 2
    assert "Q @ Kᵀ ÷ √6" in texts(figure)
    assert "scores (3, 5, 5)" in figure.alt


@pytest.mark.parametrize("num_heads", [2, 3, 4])
def test_many_heads_stand_side_by_side(num_heads: int) -> None:
    mha = ParameterOnly(12, num_heads)
    figure = diagrams.flow(trace(mha, torch.randn(3, 5, 12)))
    shown = texts(figure)
    assert [text for text in shown if text.startswith("head")] == [
        f"head {h + 1}" for h in range(num_heads)
    ]
    assert shown.count(f"5 × {12 // num_heads}") == 2 * num_heads
    assert shown.count("5 × 5") == 2 * num_heads
    assert f"(3, {num_heads}, 5, {12 // num_heads})" in shown
    rows = {e.get("y") for e in elements(figure, "text") if (e.text or "").startswith("head")}
    assert len(rows) == 1


def test_flow_refuses_more_heads_than_fit() -> None:
    with pytest.raises(ValueError, match="steps: got 6 heads, expected at most 4"):
        diagrams.flow(trace(ParameterOnly(12, 6), torch.randn(1, 2, 12)))


def test_flow_refuses_a_trace_without_the_names() -> None:
    steps = trace(MultiHeadAttention(8, 2), torch.randn(1, 2, 8), need_weights=True)
    with pytest.raises(ValueError, match="steps: got no x"):
        diagrams.flow(steps)


def test_flow_refuses_a_trace_that_hides_a_step() -> None:
    steps = trace(ParameterOnly(8, 2), torch.randn(1, 2, 8))
    split = [step for step in steps if step.name in "QKV" and len(step.shape) == 4]
    with pytest.raises(ValueError, match="got 1 times Q and 2 times out, expected 2 and 2"):
        diagrams.flow(Trace(step for step in steps if step not in split))
    with pytest.raises(ValueError, match="got 2 times Q and 1 times out, expected 2 and 2"):
        diagrams.flow(Trace(steps[:-1]))


def test_flow_refuses_values_of_another_width() -> None:
    steps = trace(ParameterHead(8), torch.randn(1, 2, 8))
    wide = [
        s._replace(shape=(1, 2, 9)) if s == Step("V", (1, 2, 8), s.function, 0) else s
        for s in steps
    ]
    with pytest.raises(ValueError, match="Q, K and V of different shapes"):
        diagrams.flow(Trace(wide))


# Split and merge.

sizes = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))


def listed(tables: Tensor, name: str) -> str:
    rows = [[" ".join(map(str, row)) for row in table] for table in tables.tolist()]
    return "; ".join(f"{name} {i} holds {', '.join(row)}" for i, row in enumerate(rows, 1))


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_split_tells_what_each_head_gets(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = labels(seq_len, num_heads * d_k)
    alt = diagrams.split(x, num_heads).alt
    right = listed(split_heads(x, num_heads)[0], "head")
    wrong = listed(x.reshape(num_heads, seq_len, d_k), "head")
    assert f"Right: {right}. Wrong: {wrong}." in alt


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_merge_tells_what_each_token_gets(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = split_heads(labels(seq_len, num_heads * d_k), num_heads)
    alt = diagrams.merge(x).alt
    right = listed(merge_heads(x)[0][:, None], "token")
    wrong = listed(x.reshape(seq_len, 1, num_heads * d_k), "token")
    assert f"Right: {right}. Wrong: {wrong}." in alt


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_number_keeps_its_tokens_colour_on_every_way(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = labels(seq_len, num_heads * d_k)
    for figure in (diagrams.split(x, num_heads), diagrams.merge(split_heads(x, num_heads))):
        drawn = cells(figure)
        hues = list(HUES.values())
        assert len(drawn) == 4 * x.numel()
        assert set(drawn) == {
            (str(number), hues[token]) for token, row in enumerate(x[0].tolist()) for number in row
        }


def test_cells_of_the_heads_stand_in_the_order_of_the_data() -> None:
    x = labels(3, 4)
    numbers = [int(number) for number, _ in cells(diagrams.split(x, 2))]
    pieces = x.view(3, 2, 2).transpose(0, 1)
    assert numbers[:12] == x.flatten().tolist()
    assert numbers[12:24] == pieces.flatten().tolist()  # the cut rows, piece after piece
    assert numbers[24:36] == split_heads(x, 2).flatten().tolist()
    assert numbers[36:] == x.flatten().tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.split(labels(3, 4).expand(2, 3, 4), 2), r"x: got shape \(2, 3, 4\)"),
        (lambda: diagrams.split(labels(3, 4), 3), "num_heads: got 3"),
        (lambda: diagrams.split(labels(3, 16), 2), "x: got 16 numbers for a token"),
        (lambda: diagrams.merge(labels(3, 4)), r"x: got shape \(1, 3, 4\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], Figure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# The packed weights of nn.MultiheadAttention.


def test_packed_shows_the_rows_and_columns_that_a_head_depends_on() -> None:
    """What PyTorch's own gradient says, one head at a time."""
    d_model, num_heads, d_k = 12, 3, 4
    mha = nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True)
    figure = diagrams.packed(mha)
    shown = [text for text in texts(figure) if "–" in text]
    rows = [shown[i : i + num_heads] for i in range(0, 3 * num_heads, num_heads)]
    columns = shown[3 * num_heads :]
    x = torch.randn(1, 5, d_model)
    for head in range(num_heads):
        # Only this head sees anything but the first token, whose value is zero.
        seen = torch.zeros(num_heads, 5, 5, dtype=torch.bool)
        seen[:, :, 0] = True
        seen[head] = True
        value = x * (torch.arange(5) > 0)[:, None]
        mha.zero_grad()
        out, _ = mha(x, x, value, attn_mask=~seen)
        (out**2).sum().backward()
        assert mha.in_proj_weight.grad is not None and mha.out_proj.weight.grad is not None
        used = mha.in_proj_weight.grad.abs().sum(dim=1).nonzero().flatten().tolist()
        assert [f"{used[i]}–{used[i + d_k - 1]}" for i in range(0, 3 * d_k, d_k)] == [
            part[head] for part in rows
        ]
        used = mha.out_proj.weight.grad.abs().sum(dim=0).nonzero().flatten().tolist()
        assert f"{used[0]}–{used[-1]}" == columns[head] and len(used) == d_k
        assert f"head {head + 1} {columns[head]}" in figure.alt


def test_packed_leaves_the_module_as_it_was() -> None:
    mha = nn.MultiheadAttention(8, 2)
    before = mha.in_proj_weight.clone()
    diagrams.packed(mha)
    assert torch.equal(mha.in_proj_weight, before)


def test_packed_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(ValueError, match="mha: got three projections kept apart"):
        diagrams.packed(nn.MultiheadAttention(8, 2, kdim=6))
    with pytest.raises(ValueError, match="mha: got 8 heads, expected at most 4"):
        diagrams.packed(nn.MultiheadAttention(16, 8))


# Masks.


def test_masks_fill_what_may_be_seen() -> None:
    parts = {"causal": causal_mask(4, 5), "padding": padding_mask(torch.tensor([3]), 5)}
    figure = diagrams.masks(parts, list("abc··"))
    both = combine(*parts.values())
    assert both is not None
    filled = [float(e.get("fill-opacity", 0)) > 0 for e in elements(figure, "rect")]
    tables = [mask.expand(1, 1, 4, 5).flatten() for mask in (*parts.values(), both)]
    assert filled == torch.cat(tables).tolist()
    assert [number for number, _ in cells(figure)] == [str(int(seen)) for seen in filled]
    assert "The mask causal & padding shows the queries in turn 2, 3, 3, 3 of 5 keys" in figure.alt


def test_masks_name_queries_by_the_last_keys() -> None:
    figure = diagrams.masks({"causal": causal_mask(2, 5)})
    left = [e.text for e in elements(figure, "text") if e.get("x") == "10"]
    assert left == ["3", "4"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.masks({}), "parts: got no mask"),
        (lambda: diagrams.masks({"two": padding_mask(torch.tensor([5, 3]))}), "parts: got masks"),
        (lambda: diagrams.masks({"tall": torch.ones(3, 2, dtype=torch.bool)}), "parts: got masks"),
        (lambda: diagrams.masks({"causal": causal_mask(3)}, ["a"]), "tokens: got 1, expected 3"),
    ],
)
def test_masks_of_more_than_one_sentence_are_refused(
    call: Callable[[], Figure], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# Encoder and decoder.


def hooks(module: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


@pytest.mark.parametrize("num_layers", [1, 2])
def test_attentions_say_what_each_is_fed(num_layers: int) -> None:
    transformer = model(num_layers)
    figure = diagrams.attentions(transformer, SRC, TGT)
    told = "{} in the {}, " + f"{num_layers} times: queries from the {{}}, keys and values from"
    assert told.format("Self-attention", "encoder", "source") + " the source, weights 7 by 7" in (
        figure.alt
    )
    assert told.format("Causal self-attention", "decoder", "target") + " the target" in figure.alt
    assert told.format("Cross-attention", "decoder", "target") + " the memory, weights 5 by 7" in (
        figure.alt
    )
    shown = texts(figure)
    assert (shown.count("Q, K, V"), shown.count("Q"), shown.count("K, V")) == (2, 1, 1)
    assert [text for text in shown if text.startswith("weights")] == [
        "weights (2, 2, 7, 7)",
        "weights (2, 2, 5, 5)",
        "weights (2, 2, 5, 7)",
    ]
    assert f"decoder ×{num_layers}" in shown and "(2, 7, 8)" in shown and "(2, 5, 13)" in shown
    assert hooks(transformer) == 0


def test_attention_that_is_fed_something_else_is_not_drawn() -> None:
    transformer = model(1)
    attention = transformer.decoder.layers[0].cross_attention
    attention.register_forward_pre_hook(lambda _, args: (args[0], args[1].clone()))
    with pytest.raises(ValueError, match="model: got keys for an attention of the decoder"):
        diagrams.attentions(transformer, SRC, TGT)
    assert hooks(transformer) == 1


# Decoding.


def test_decoding_shows_the_tokens_that_generate_gives() -> None:
    transformer = model(1)
    written = transformer.generate(SRC[:1], 5, 1, 2)
    assert isinstance(written, Tensor)
    tokens = ["bos", *("eos" if n == 2 else str(n) for n in written[0].tolist())]
    figure = diagrams.decoding(transformer, SRC[:1], 5, 1, 2)
    for step in range(1, len(tokens)):
        told = f"step {step}: {' '.join(tokens[:step])}, {{}} computed, gives {tokens[step]}"
        assert figure.alt.count(told.format(step)) == 1 + (step == 1)
        assert told.format(1) in figure.alt
    assert hooks(transformer) == 0


def test_decoding_fills_what_is_computed() -> None:
    figure = diagrams.decoding(model(1), SRC[:1], 4, 1, eos=99)
    drawn = elements(figure, "rect")[:-2]  # but for the legend
    plain, cached = drawn[:10], drawn[10:]
    kept = [["stroke-dasharray" in box.attrib for box in panel] for panel in (plain, cached)]
    rows = [causal_mask(4)[i, : i + 1].tolist() for i in range(4)]
    assert kept[0] == [False] * 10
    assert kept[1] == [i < len(row) - 1 for row in rows for i in range(len(row))]
    assert "10 computed" in texts(figure) and "4 computed" in texts(figure)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"src": SRC, "max_len": 3}, r"src: got shape \(2, 7\)"),
        ({"src": SRC[:1], "max_len": 0}, "max_len: got 0"),
        ({"src": SRC[:1], "max_len": 7}, "max_len: got 7 steps, expected at most 6"),
    ],
)
def test_decoding_refuses_what_does_not_fit(options: dict[str, object], message: str) -> None:
    transformer = model(1)
    with pytest.raises(ValueError, match=message):
        diagrams.decoding(transformer, bos=1, eos=99, **options)  # type: ignore[arg-type]
    assert hooks(transformer) == 0


# Norms and gradients.


def test_norms_stand_where_the_layers_have_them() -> None:
    post, pre = EncoderLayer(8, 2), EncoderLayer(8, 2, norm_first=True)
    figure = diagrams.norms(post, pre, torch.randn(1, 3, 8))
    order = texts(figure)
    half = order.index("pre-LN")
    assert order[2:half] == ["attention", "+", "norm", "feed-forward", "+", "norm"]
    assert order[half + 2 :] == ["norm", "attention", "+", "norm", "feed-forward", "+"]
    assert "around attention, another around feed-forward; a norm stands behind" in figure.alt
    assert "around norm, attention, another around norm, feed-forward; no norm" in figure.alt
    assert hooks(post) == hooks(pre) == 0


X = torch.zeros(1, 3, 8)


def test_norms_draw_what_runs_and_not_what_is_called_so() -> None:
    swapped = diagrams.norms(EncoderLayer(8, 2, norm_first=True), EncoderLayer(8, 2), X)
    assert texts(swapped)[0] == "pre-LN" and texts(swapped)[2] == "norm"


def test_layer_that_fails_is_not_watched_any_longer() -> None:
    layer = EncoderLayer(8, 2)
    with pytest.raises(ValueError, match="query"):
        diagrams.norms(layer, layer, torch.zeros(1, 3, 7))
    assert hooks(layer) == 0


def test_gradient_bars_are_in_powers_of_ten_of_the_largest() -> None:
    norms = torch.tensor([0.0, 2e-18, 2.0], dtype=torch.float64)
    figure = diagrams.gradients({"RNN": norms}, [0, 1, 2])
    widths = [float(box.get("width") or 0) for box in elements(figure, "rect")]
    assert widths == pytest.approx([211, 106, 1])
    assert "0 back 1e+00, 1 back 1e-18, 2 back 0e+00" in figure.alt


def test_gradients_refuse_a_distance_beyond_the_first() -> None:
    with pytest.raises(ValueError, match="distances: got 3, expected 0 to 2"):
        diagrams.gradients({"RNN": torch.ones(3)}, [3])


def test_gradients_name_their_models_in_both_languages() -> None:
    figure = diagrams.gradients({"attention": torch.ones(2)}, [1], zh={"attention": "注意力"})
    assert figure.twin and "attention" in texts(figure) and "注意力" in texts(figure.twin)
