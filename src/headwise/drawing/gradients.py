"""How large a gradient is that arrives from a distance, in powers of ten."""

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph

WORDS = {
    "en": {
        "gradients": "The gradient that arrives from a distance",
        "back": "{} back",
        "arrives": "{}: {}",
    },
    "zh": {
        "gradients": "从远处传来的梯度",
        "back": "往回 {} 个",
        "arrives": "{}：{}",
    },
}


@with_twin
def gradients(
    arrived: Mapping[str, Tensor],
    distances: Sequence[int],
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """How large a gradient is that comes from so many positions back, a bar each, in powers of 10.

    arrived: name to norms (seq_len,), the last position last; each is compared with its largest.
    zh: what the names are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    if lang == "zh" and zh:
        arrived = {zh.get(name, name): found for name, found in arrived.items()}
    sheet, sentences, y = Sheet(), [], 0.0
    lowest = 36.0  # powers of ten below the largest that still have a place
    for i, (name, norms_) in enumerate(arrived.items()):
        for distance in distances:
            if not 0 <= distance < len(norms_):
                raise ValueError(f"distances: got {distance}, expected 0 to {len(norms_) - 1}")
        sheet.text(0.0, y + 10, name, **BOLD)
        y += 22
        found = []
        for distance in distances:
            share = (norms_[-1 - distance] / norms_.max()).item()
            power = math.log10(share) if share else -lowest
            sheet.text(62.0, y + 8, words["back"].format(distance), SMALL, text_anchor="end")
            sheet.box(70.0, y + 1, 210 * max(0.0, 1 + power / lowest) + 1, 14.0, hue_of(i), rx=0)
            sheet.text(WIDTH, y + 8, f"{share:.0e}", SMALL, text_anchor="end")
            found.append(f"{words['back'].format(distance)} {share:.0e}")
            y += 19
        y += 8
        sentences.append(words["arrives"].format(name, words["item"].join(found)))
    title = words["gradients"]
    return sheet.figure(title, paragraph([title, *sentences], words), lang)
