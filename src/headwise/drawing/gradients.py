"""How large a gradient is that arrives from a distance, in powers of ten."""

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from headwise._check import check_whole
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_kind, check_tensor, real_list
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.rounding import power_of_ten
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph, renamed

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
    found = _norms(arrived, distances)
    sheet, sentences, y = Sheet(), [], 0.0
    lowest = 36.0  # powers of ten below the largest that still have a place
    for i, (name, norms) in enumerate(renamed("arrived", found, zh, lang).items()):
        sheet.text(0.0, y + 10, name, **BOLD)
        y += 22
        told = []
        for distance in distances:
            share = norms[-1 - distance] / max(norms)
            power = math.log10(share) if share else -lowest
            shown = power_of_ten(share)
            sheet.text(62.0, y + 8, words["back"].format(distance), SMALL, text_anchor="end")
            sheet.box(70.0, y + 1, 210 * max(0.0, 1 + power / lowest) + 1, 14.0, hue_of(i), rx=0)
            sheet.text(WIDTH, y + 8, shown, SMALL, text_anchor="end")
            told.append(f"{words['back'].format(distance)} {shown}")
            y += 19
        y += 8
        sentences.append(words["arrives"].format(name, words["item"].join(told)))
    title = words["gradients"]
    return sheet.figure(title, paragraph([title, *sentences], words), lang)


def _norms(arrived: Mapping[str, Tensor], distances: Sequence[int]) -> dict[str, list[float]]:
    """The norms under each name, once it is clear that every distance has one."""
    check_kind("arrived", arrived, Mapping, "a mapping of names to norms")
    check_kind("distances", distances, Sequence, "a sequence of whole numbers")
    if not arrived or not distances:
        raise ValueError("arrived, distances: got none, expected at least one of each")
    found = {}
    for name, norms in arrived.items():
        check_tensor("arrived", norms)
        check_shape("arrived", norms, ("seq_len",))
        numbers = real_list("arrived", norms, f" in {name!r}")
        if min(numbers) < 0 or max(numbers) == 0:
            raise ValueError(
                f"arrived: got norms from {min(numbers):g} to {max(numbers):g} in {name!r}, "
                "expected none below 0 and one above it"
            )
        for distance in distances:
            check_whole("distances", distance, 0, len(numbers) - 1)
        found[name] = numbers
    return found
