"""Paths: the recurrent network's goes through every state, attention's straight to the end."""

import pytest
from svg_parts import elements, texts

from headwise.drawing import diagrams


def test_recurrent_path_has_a_state_for_each_token() -> None:
    figure = diagrams.paths(5, 15, 3)
    shown = texts(figure)
    assert [f"h{i}" for i in range(1, 6)] == [text for text in shown if text.startswith("h")]
    assert shown.count("out") == 1 and shown.count("x5") == 2
    assert len(elements(figure, "path")) == 5 + 4 + 5  # tokens to states, states, tokens to out
    assert "through every state, 15 operations for 5 tokens" in figure.alt
    assert "directly, 3 operations" in figure.alt


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 3, 3), "seq_len: got 1"),
        ((9, 27, 3), "seq_len: got 9"),
        ((5, 0, 3), "rnn: got 0"),
        ((5, 15, 0), "attention: got 0"),
    ],
)
def test_paths_refuse_what_they_cannot_draw(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.paths(*sizes)
