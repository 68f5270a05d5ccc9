"""Lines: ends and extremes in words, and names in both languages."""

from svg_parts import texts

from headwise.drawing import plot


def test_names_and_labels_of_lines_have_their_chinese() -> None:
    chinese = {"loss": "损失", "step": "步"}
    figure = plot.lines({"loss": [2.0, 1.0]}, x_label="step", y_label="MiB", zh=chinese)
    assert {"loss", "step", "MiB"} <= set(texts(figure))
    assert figure.twin and {"损失", "步", "MiB"} <= set(texts(figure.twin))
    assert "MiB随步的变化" in figure.twin.alt and "损失：" in figure.twin.alt
    assert "step" not in figure.twin.alt


def test_alt_text_of_lines_gives_ends_and_extremes() -> None:
    figure = plot.lines({"loss": [3, 0.5, 4, 1]}, x_label="step", y_label="loss")
    assert figure.alt == (
        "loss against step. loss: 3 at 0, 1 at 3; lowest 0.5 at 1, highest 4 at 2."
    )
