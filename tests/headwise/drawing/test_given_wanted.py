"""Given and wanted: each place sees what the model lets it see, and answers the next word."""

from typing import Any

import pytest
import torch
from svg_parts import elements, texts
from torch import Tensor

from headwise.drawing import diagrams
from headwise.masks import causal_mask
from headwise.transformer import Transformer

NAMES = ["<pad>", "<bos>", "<eos>", "two", "hundred", "五"]
SRC, TGT = torch.tensor([[3, 4]]), torch.tensor([[1, 3, 4, 2]])


def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(6, 6, d_model=8, num_heads=2, num_layers=2)


def dashed(tgt: Tensor) -> list[bool]:
    drawn = elements(diagrams.given_wanted(model(), SRC, tgt, NAMES), "rect")[:-2]  # no legend
    return ["stroke-dasharray" in box.attrib for box in drawn]


def test_place_sees_what_is_not_later() -> None:
    assert dashed(TGT) == (~causal_mask(3)).flatten().tolist()


def test_place_does_not_see_padding() -> None:
    hidden = ~causal_mask(4)
    hidden[:, 3] = True
    assert dashed(torch.tensor([[1, 3, 2, 0, 0]])) == hidden.flatten().tolist()


def test_wanted_is_the_next_word() -> None:
    figure = diagrams.given_wanted(model(), SRC, TGT, NAMES)
    for place, answer in enumerate(["two", "hundred", "<eos>"]):
        sees = " ".join(["<bos>", "two", "hundred"][: place + 1])
        assert f"Place {place}: sees {sees}, wanted is {answer}." in figure.alt
    assert [text for text in texts(figure) if text == "<eos>"] == ["<eos>"]


def test_training_model_is_left_as_it_was() -> None:
    transformer = model()
    before = torch.get_rng_state()
    diagrams.given_wanted(transformer, SRC, TGT, NAMES)
    assert transformer.training and torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"src": torch.ones(2, 3, dtype=torch.long)}, r"src: got shape \(2, 3\)"),
        ({"tgt": TGT[:, :1]}, r"tgt: got shape \(1, 1\), expected two to eight"),
        ({"tgt": torch.full((1, 9), 3)}, r"tgt: got shape \(1, 9\), expected two to eight"),
        ({"tgt": torch.full((1, 8), 4)}, "tgt: got 7 words, expected fewer or shorter"),
        ({"tgt": torch.tensor([[1, 6]])}, "tgt: got"),
        ({"names": NAMES[:5]}, "names: got 5, expected 6"),
    ],
)
def test_given_wanted_refuses_what_it_cannot_draw(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.given_wanted(model(), **({"src": SRC, "tgt": TGT, "names": NAMES} | options))
