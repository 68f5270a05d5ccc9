"""Encoder and decoder: each attention is drawn with what it is fed."""

import pytest
from sample_figures import SRC, TGT, model
from svg_parts import hooks, texts

from headwise.drawing import diagrams
from headwise.transformer import Transformer


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


def boxes(shown: list[str], start: str, end: str) -> list[str]:
    """What stands in the boxes of a stack, in their order, without shapes and labels."""
    told = [text for text in shown[shown.index(start) : shown.index(end)] if text[0] not in "(w"]
    return [text for text in told if text not in ("Q", "Q, K, V", "K, V")]


def test_every_box_of_the_paper_is_drawn() -> None:
    shown = texts(diagrams.attentions(model(2), SRC, TGT))
    entrance = ["embedding", "+ positions"]
    forward = ["feed-forward", "Add & Norm"]
    layer = ["self-attention", "Add & Norm", *forward]
    assert boxes(shown, "source", "target") == ["source", *entrance, *layer, "encoder ×2", "Norm"]
    layer = ["causal self-attention", "Add & Norm", "cross-attention", "Add & Norm", *forward]
    assert boxes(shown, "target", "memory") == ["target", *entrance, *layer, "decoder ×2", "Norm"]
    assert shown[-4:] == ["W_vocab", "(2, 5, 13)", "softmax", "(2, 5, 13)"]


def test_norms_that_come_first_are_drawn_first() -> None:
    pre = Transformer(11, 13, d_model=8, num_heads=2, num_layers=1, norm_first=True).eval()
    figure = diagrams.attentions(pre, SRC, TGT)
    order = "Norm, self-attention, Add, Norm, feed-forward, Add"
    assert f"A layer of the encoder: {order}." in figure.alt
    assert "Add & Norm" not in texts(figure)


def test_attention_that_is_fed_something_else_is_not_drawn() -> None:
    transformer = model(1)
    attention = transformer.decoder.layers[0].cross_attention
    attention.register_forward_pre_hook(lambda _, args: (args[0], args[1].clone()))
    with pytest.raises(ValueError, match="model: got keys for an attention of the decoder"):
        diagrams.attentions(transformer, SRC, TGT)
    assert hooks(transformer) == 1
