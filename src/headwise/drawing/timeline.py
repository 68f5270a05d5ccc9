"""What the CPU and the GPU do at the same time: one launches kernels, the other runs them."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwise.drawing.checks import called, check_kind, check_text, real_list
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph, renamed

LEFT = 34.0
LOOKS: dict[str, dict[str, Any]] = {
    "launch": {"hue": "orange", "rx": 0},
    "run": {"hue": "blue", "fill_opacity": 0.4, "rx": 0},
    "wait": {"stroke_dasharray": "2 2", "rx": 0},
}

WORDS = {
    "en": {
        "timeline": "CPU and GPU while kernels are launched and run",
        "launch": "launch",
        "run": "kernel",
        "wait": "waiting",
        "told": "{}: {} kernels; the last launch ends at {:g}, the GPU is done at {:g} and was "
        "idle for {:g} before that",
    },
    "zh": {
        "timeline": "启动内核与运行内核时的 CPU 和 GPU",
        "launch": "启动",
        "run": "内核",
        "wait": "等待",
        "told": "{}：{} 个内核；最后一次启动在 {:g} 结束，GPU 到 {:g} 做完，其间闲着 {:g}",
    },
}


@with_twin
def timeline(
    kernels: Mapping[str, Sequence[float]],
    launch: float,
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """The lanes of CPU and GPU for each named list of kernels, each with how long it runs.

    The CPU needs `launch` for each kernel and doesn't wait; the GPU runs them in order, each once
    it is launched. At the end the CPU waits for the GPU. zh: the names in Chinese.
    """
    words = choose(WORDS, lang)
    check_kind("kernels", kernels, Mapping, "a mapping of names to times")
    if isinstance(launch, bool) or not isinstance(launch, int | float):
        raise TypeError(f"launch: got {called(launch)}, expected a number")
    (cost,) = real_list("launch", [launch])
    runs = {}
    for name, times in kernels.items():
        check_text("kernels", name)
        runs[name] = real_list("kernels", times, f" in {name!r}")
    if not runs or min(cost, *(min(times) for times in runs.values())) <= 0:
        raise ValueError("kernels, launch: got none or a time that is not above 0")
    spans = {name: _spans(times, cost) for name, times in runs.items()}
    longest = max(span[-1][1] for span in spans.values())
    scale = (WIDTH - LEFT - 1) / longest
    sheet, sentences, y = Sheet(), [words["timeline"]], 0.0

    def bar(start: float, end: float, lane: float, look: str) -> None:
        left, width = LEFT + start * scale, (end - start) * scale
        sheet.box(left, y + lane, width, 18.0, **LOOKS[look])

    for name, span in renamed("kernels", spans, zh, lang).items():
        sheet.text(0.0, y + 8, name, **BOLD)
        launched, done = cost * len(span), span[-1][1]
        for lane, down in (("CPU", 20), ("GPU", 44)):
            sheet.text(0.0, y + down + 9, lane, SMALL, text_anchor="start")
        for i, (start, end) in enumerate(span):
            bar(i * cost, (i + 1) * cost, 20.0, "launch")
            bar(start, end, 44.0, "run")
        bar(launched, done, 20.0, "wait")
        idle = done - sum(end - start for start, end in span)
        sentences.append(words["told"].format(name, len(span), launched, done, idle))
        y += 78
    for i, (key, look) in enumerate(LOOKS.items()):
        sheet.box(0.5 + 112 * i, y, 12.0, 12.0, **look)
        sheet.text(17.0 + 112 * i, y + 6, words[key], SMALL, text_anchor="start")
    return sheet.figure(words["timeline"], paragraph(sentences, words), lang)


def _spans(times: Sequence[float], launch: float) -> list[tuple[float, float]]:
    """When each kernel starts and ends on the GPU."""
    spans: list[tuple[float, float]] = []
    for i, time in enumerate(times):
        start = max((i + 1) * launch, spans[-1][1] if spans else 0.0)
        spans.append((start, start + time))
    return spans
