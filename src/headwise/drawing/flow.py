"""The data flow of an attention module, one head or several, from its trace."""

from headwise._check import show
from headwise.drawing.checks import check_kind
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.sheet import Sheet, hue_of
from headwise.drawing.words import choose
from headwise.trace import Trace

WORDS = {
    "en": {
        "one": "Data flow of one head",
        "many": "Data flow of {} heads",
        "head": "head {}",
        "split": "split",
        "merge": "merge",
        "projected": " From top to bottom, {} through W_q, W_k and W_v gives Q, K and V, each {}.",
        "scored": " Q and K give scores {}; softmax makes them weights {}; weights and V give "
        "out {}.",
        "lanes": " Split, each is {}. In each of the {} heads, side by side, Q and K {} give "
        "scores {}; softmax makes them weights {}; weights and V give out {}. Merged: {}.",
        "last": " Through W_o: {}.",
    },
    "zh": {
        "one": "单个头的数据流",
        "many": "{} 个头的数据流",
        "head": "第 {} 头",
        "split": "拆分",
        "merge": "合并",
        "projected": "从上到下，{} 经过 W_q、W_k、W_v 得到 Q、K、V，形状都是 {}。",
        "scored": "Q 与 K 得到 scores {}；softmax 把它变成 weights {}；weights 与 V 得到 out {}。",
        "lanes": "拆分之后都是 {}。{} 个头并排，在每个头里，Q 与 K {} 得到 scores {}；"
        "softmax 把它变成 weights {}；weights 与 V 得到 out {}。合并之后：{}。",
        "last": "再经过 W_o：{}。",
    },
}


@with_twin
def flow(steps: Trace, *, lang: str = "en") -> Figure:
    """What flows where in an attention module, one head or several, with the shape of each tensor.

    steps: the trace of a module that names x, Q, K, V, scores, weights and out, such as
    ParameterHead or ParameterOnly. The several heads of the latter stand side by side.
    """
    words = choose(WORDS, lang)
    check_kind("steps", steps, Trace, "a trace")
    own = [step for step in steps if step.depth == 0]
    inside = steps.within("attention")
    shapes = {
        name: [s.shape for s in own if s.name == name] for name in ("x", "Q", "K", "V", "out")
    }
    shapes |= {name: [s.shape for s in inside if s.name == name] for name in ("scores", "weights")}
    gathered = [step.shape for step in inside if step.name == "out"]
    for name, found in (*shapes.items(), ("out in attention", gathered)):
        if not found:
            raise ValueError(f"steps: got no {name}, expected a trace of x, Q, K, V, … and out")
        for shape in found:
            if len(shape) not in (3, 4):
                raise ValueError(
                    f"steps: got {show(shape)} for {name}, expected three or four axes"
                )
    x, Q, out = shapes["x"][0], shapes["Q"], shapes["out"]
    scores, weights = shapes["scores"][0], shapes["weights"][0]
    # Several heads show first the projection and then the split; out is merged and projected.
    if len(Q) != len(scores) - 2 or len(out) != 2:
        raise ValueError(
            f"steps: got {len(Q)} times Q and {len(out)} times out, "
            f"expected {len(scores) - 2} and 2"
        )
    if not Q == shapes["K"] == shapes["V"]:
        raise ValueError("steps: got Q, K and V of different shapes, expected the same")
    whole = [(*shape[:2], len(shape)) for shape in (x, Q[0], *out)]  # batch and length
    split = [shape[:-1] for shape in (scores, Q[-1], gathered[0])]  # with the heads, if several
    if weights != scores or whole != [(*x[:2], 3)] * 4 or split != split[:1] * 3:
        raise ValueError("steps: got shapes that do not fit together, expected those of one trace")

    sheet = Sheet()
    sheet.tensor(118.0, 1.0, 104.0, "x", show(x))
    for i, name in enumerate(("Q", "K", "V")):
        middle = 53.5 + i * 116.5
        sheet.arrow((170.0, 41.0), (170.0, 56.0), (middle, 56.0), (middle, 84.0))
        sheet.text(middle + 7, 69, f"W_{name.lower()}", text_anchor="start")
        sheet.tensor(middle - 52, 85.0, 104.0, name, show(Q[0]))
    alt = words["projected"].format(f"x {show(x)}", show(Q[0]))

    if len(scores) == 3:
        title = words["one"]
        for middle in (53.5, 170.0):
            sheet.arrow((middle, 125.0), (middle, 158.0))
        sheet.text(111.75, 141, f"Q @ Kᵀ ÷ √{Q[0][-1]}")
        sheet.tensor(1.5, 159.0, 220.5, "scores", show(scores), "blue")
        sheet.arrow((111.75, 199.0), (111.75, 232.0))
        sheet.text(119, 214, "softmax", text_anchor="start")
        sheet.tensor(1.5, 233.0, 220.5, "weights", show(weights), "blue")
        sheet.arrow((111.75, 273.0), (111.75, 306.0))
        sheet.arrow((286.5, 125.0), (286.5, 306.0))
        sheet.text(199, 289, "weights @ V")
        y = 307.0
        alt += words["scored"].format(show(scores), show(weights), show(gathered[0]))
    else:
        num_heads = scores[1]
        if not 1 <= num_heads <= len(HUES):
            raise ValueError(f"steps: got {num_heads} heads, expected 1 to {len(HUES)}")
        title = words["many"].format(num_heads)
        lane = (337 - 8 * (num_heads - 1)) / num_heads
        for i in range(3):
            for h in range(num_heads):
                left = 1.5 + i * 116.5 + h * 104 / num_heads
                sheet.box(left, 125.0, 104 / num_heads, 8.0, hue_of(h), rx=0)
        sheet.text(111.75, 144, words["split"])
        sheet.text(228.25, 144, show(Q[1]))
        parts = (("Q, K, V", Q[1]), ("scores", scores), ("weights", weights), ("out", gathered[0]))
        for h in range(num_heads):
            left = 1.5 + h * (lane + 8)
            middle = left + lane / 2
            # Every head gets a piece of each of the three.
            for source in (53.5, 170.0, 286.5):
                sheet.arrow((source, 134.0), (source, 156.0), (middle, 156.0), (middle, 178.0))
            sheet.box(left, 179.0, lane, 245.0, hue_of(h), fill_opacity=0.0)
            sheet.text(middle, 192, words["head"].format(h + 1), font_weight=600)
            for i, (name, shape) in enumerate(parts):
                y = 204.0 + i * 56
                sheet.box(left + 5, y, lane - 10, 36.0, hue_of(h))
                sheet.text(middle, y + 12, name)
                sheet.text(middle, y + 26, f"{shape[2]} × {shape[3]}")
                if i < 3:
                    sheet.arrow((middle, y + 36), (middle, y + 55))
            sheet.arrow((middle, 424.0), (middle, 454.0))
            sheet.box(
                left - 4 * (h > 0),
                455.0,
                lane + 4 * ((h > 0) + (h < num_heads - 1)),
                8.0,
                hue_of(h),
                rx=0,
            )
        sheet.text(170, 439, words["merge"])
        y = 463.0
        alone = [show(shape[2:]) for _, shape in parts]
        alt += words["lanes"].format(show(Q[1]), num_heads, *alone, show(out[-2]))
    sheet.tensor(1.5, y, 337.0, "out", show(out[-2]))
    sheet.arrow((170.0, y + 40), (170.0, y + 68))
    sheet.text(177, y + 52, "W_o", text_anchor="start")
    sheet.tensor(118.0, y + 69, 104.0, "out", show(out[-1]))
    alt += words["last"].format(show(out[-1]))
    return sheet.figure(title, title + words["stop"].strip() + alt, lang)
