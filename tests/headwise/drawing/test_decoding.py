"""Decoding: the tokens are those that generate gives, and filled is what is computed."""

from typing import Any

import pytest
from sample_figures import SRC, model
from svg_parts import elements, hooks, texts
from torch import Tensor

from headwise.drawing import diagrams
from headwise.masks import causal_mask


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
    figure = diagrams.decoding(model(1), SRC[:1], 4, 1, eos=-1)
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
        ({"src": SRC[:1], "max_len": 7}, "max_len: got 7, expected at most 6"),
    ],
)
def test_decoding_refuses_what_does_not_fit(options: dict[str, object], message: str) -> None:
    transformer = model(1)
    with pytest.raises(ValueError, match=message):
        diagrams.decoding(transformer, bos=1, eos=-1, **options)  # type: ignore[arg-type]
    assert hooks(transformer) == 0


@pytest.mark.parametrize(("options", "named"), [({"bos": [1]}, "bos"), ({"eos": {}}, "eos")])
def test_decoding_refuses_what_is_no_token_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=f"{named}: got a .*, expected a token"):
        diagrams.decoding(model(), **({"src": SRC[:1], "max_len": 3, "bos": 1, "eos": 2} | options))


def test_decoding_notices_soon_that_the_steps_do_not_fit() -> None:
    with pytest.raises(ValueError, match="max_len: got 1000000, expected at most 6"):
        diagrams.decoding(model(), SRC[:1], 10**6, 1, -1)
