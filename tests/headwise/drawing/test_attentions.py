"""Encoder and decoder: each attention is drawn with what it is fed."""

import pytest
from sample_figures import SRC, TGT, model
from svg_parts import hooks, texts

from headwise.drawing import diagrams


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
