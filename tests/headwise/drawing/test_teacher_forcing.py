"""Teacher forcing: filled is what has a weight, and no row sees the word it is asked for."""

from collections.abc import Sequence

import pytest
import torch
from svg_parts import elements, texts
from torch import Tensor

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES, Figure

SOURCE, WORDS = ["一", "百"], ["<bos>", "one", "hundred", "<eos>"]


def draw(own: Tensor, memory: Tensor | None = None, step: int = 2) -> Figure:
    memory = torch.ones(3, 2) if memory is None else memory
    return diagrams.teacher_forcing(own, memory, SOURCE, WORDS, step)


def filled(figure: Figure) -> list[bool]:
    boxes = elements(figure, "rect")[:-2]  # but for the legend
    return [float(box.get("fill-opacity") or 0) > 0 for box in boxes]


def test_filled_is_what_has_a_weight() -> None:
    own = torch.ones(3, 3).tril()
    memory = torch.tensor([[1.0, 0.0]]).expand(3, 2)
    rows = [memory[row].tolist() + own[row].tolist() for row in range(3)]
    again = [memory[row].tolist() + own[row, :2].tolist() for row in range(2)]
    assert filled(draw(own, memory)) == [bool(n) for row in (*rows, *again) for n in row]


def test_each_row_is_asked_for_the_word_after_its_own() -> None:
    figure = draw(torch.ones(3, 3).tril())
    for told in (
        "given <bos> it sees 2 of the source and <bos>; wanted one",
        "given hundred it sees 2 of the source and <bos> one hundred; wanted <eos>",
        "Decoding, step 2: one new row: given <bos>",
        "given one it sees 2 of the source and <bos> one; it says hundred",
    ):
        assert told in figure.alt
    assert "the answer, hidden" in texts(figure)


def test_without_a_causal_mask_the_answer_is_shown_as_visible() -> None:
    figure = draw(torch.ones(3, 3))
    leaked = [box for box in elements(figure, "rect") if box.get("fill") == HUES["orange"]]
    assert len(leaked) == 2 + 1 + 1  # of training, of decoding, and in the legend
    assert {box.get("fill-opacity") for box in leaked} == {"0.6"}
    assert "the answer, visible" in texts(figure)


@pytest.mark.parametrize(
    ("sizes", "words", "step", "message"),
    [
        ((3, 2, 3), WORDS, 1, r"own: got shape \(3, 2\)"),
        ((3, 3, 2), WORDS, 1, r"own: got shape \(3, 3\), expected \(2, 2\)"),
        ((3, 3, 3), WORDS[1:], 1, "words: got 3, expected 4"),
        ((3, 3, 3), WORDS, 4, "step: got 4, expected a whole number"),
        ((20, 20, 20), ["word"] * 21, 4, "words: got 22 tokens, expected fewer"),
    ],
)
def test_what_does_not_fit_is_refused(
    sizes: tuple[int, int, int], words: Sequence[str], step: int, message: str
) -> None:
    own, memory = torch.ones(sizes[0], sizes[1]), torch.ones(sizes[2], 2)
    with pytest.raises(ValueError, match=message):
        diagrams.teacher_forcing(own, memory, SOURCE, words, step)
