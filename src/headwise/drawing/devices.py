"""Where tensors live: a frame for each device, with the tensors that are on it."""

from collections.abc import Mapping

from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import check_kind, check_tensor, check_text
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.sheet import BOLD, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, listed, paragraph

WORDS = {
    "en": {"devices": "Where the tensors live", "told": "on {}: {}"},
    "zh": {"devices": "张量住在哪里", "told": "在 {} 上：{}"},
}


@with_twin
def devices(tensors: Mapping[str, Tensor], *, lang: str = "en") -> Figure:
    """A frame for each device, most tensors first, and in it the tensors with their shapes."""
    words = choose(WORDS, lang)
    check_kind("tensors", tensors, Mapping, "a mapping of names to tensors")
    places: dict[str, list[str]] = {}
    for name, tensor in tensors.items():
        check_text("tensors", name)
        check_tensor("tensors", tensor)
        places.setdefault(str(tensor.device), []).append(f"{name} {show(tensor.shape)}")
    if not 1 <= len(places) <= len(HUES):
        raise ValueError(f"tensors: got {len(places)} devices, expected one to {len(HUES)}")
    order = sorted(places, key=lambda place: -len(places[place]))
    gap = 14.0
    width = (WIDTH - 1 - gap * (len(order) - 1)) / len(order)
    tallest = max(map(len, places.values()))
    sheet, sentences = Sheet(), [words["devices"]]
    for i, place in enumerate(order):
        left = 0.5 + i * (width + gap)
        sheet.text(left + 2, 8.0, place, **BOLD)
        sheet.box(left, 20.0, width, 34.0 * tallest + 8, stroke_dasharray="4 3", stroke_opacity=0.6)
        for row, words_of in enumerate(places[place]):
            sheet.box(left + 8, 28.0 + 34 * row, width - 16, 26.0, hue_of(i))
            sheet.text(left + width / 2, 41.0 + 34 * row, words_of)
        sentences.append(words["told"].format(place, listed(places[place], words)))
    return sheet.figure(words["devices"], paragraph(sentences, words), lang)
