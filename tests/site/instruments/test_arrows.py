"""Arrows, dragged and moved as a person would; what they show is what the library computes."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from instrument import Instrument
from page_visit import PHONE, WIDE
from playwright.sync_api import Page, expect
from torch import Tensor

from headwise.attention import attention

COLOURS = torch.tensor([[47.0, 127, 208], [200, 100, 44], [43, 138, 87]])
KEYS = ("k0", "k1", "k2")
EDGE = 5.8  # of the plane that is seen

# What is drawn, in the units of the drawing, where y goes down.
DRAWN = """panel => {
  const all = selector => [...panel.querySelectorAll(selector)]
  const box = e => e.getBoundingClientRect()
  const at = (e, ...names) => names.map(name => Number(e.getAttribute(name)))
  const isSeen = e => e.getAttribute("visibility") !== "hidden"
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2]
  const plane = box(panel.querySelector(".plane svg")), unit = plane.width / EDGE / 2
  const fill = (e, kind) => isSeen(e) ? getComputedStyle(e)[kind] : null
  return {
    grips: all(".grip").map(e => middle(box(e)).map((x, i) => (x - middle(plane)[i]) / unit)),
    shafts: all(".shaft").map(e => e.getAttribute("d")),
    labels: all(".plane text").filter(isSeen).map(e => [e.textContent, ...at(e, "x", "y")]),
    line: at(panel.querySelector(".line"), "x1", "y1", "x2", "y2"),
    drops: all(".drop").map(e => isSeen(e) ? at(e, "x1", "y1", "x2", "y2") : null),
    feet: all(".foot").map(e => isSeen(e) ? at(e, "cx", "cy") : null),
    values: all(".handle").map(e => Number(e.value)),
    said: all(".handle").map(e => e.getAttribute("aria-valuetext")),
    bars: all(".bar .bar").map(e => parseFloat(e.style.width)),
    tops: all("tbody tr").slice(0, 3)
      .map(row => [...row.querySelectorAll(".top")].map(e => e.classList[0])),
    swatch: fill(panel.querySelector(".out .swatch"), "backgroundColor"),
    mixture: fill(panel.querySelector(".mixture"), "fill"),
  }
}""".replace("EDGE", str(EDGE))


def numbers(rows: list[list[str]]) -> Tensor:
    """Cells as they are read, as numbers."""
    plain = [[x.replace("−", "-").replace("–", "nan") for x in row] for row in rows]
    return torch.tensor([[float(x) for x in row] for row in plain])


def assert_shown(shown: Instrument, tips: list[list[float]], **options: bool) -> dict[str, Any]:
    """The tables and the drawing show what the library makes of these arrows."""
    assert shown.failed() is None
    assert shown.state()["arrows"] == [pytest.approx(tip, abs=1e-9) for tip in tips]
    scaled, tied = options.get("scaled", True), options.get("tied", False)
    q, K = torch.tensor(tips).float().split((1, 3))
    V = K if tied else COLOURS
    out, weights = attention(q if scaled else q * 2**0.5, K, V)
    cosines = F.cosine_similarity(q, K)
    cosines = cosines.masked_fill(K.norm(dim=-1) * q.norm() == 0, torch.nan)
    dots = (q @ K.T)[0]
    scores = dots / 2**0.5 if scaled else dots
    wanted = torch.stack((K.norm(dim=-1), cosines, dots, scores, weights[0]), dim=-1)
    near: dict[str, Any] = {"atol": 0.0051, "rtol": 0, "equal_nan": True}
    torch.testing.assert_close(numbers(shown.table("What the query")), wanted, **near)
    caption, digits = ("The keys, mixed", 2) if tied else ("Each key hands over", 1)
    assert shown.panel.locator("table").nth(1 + tied).is_visible()
    assert shown.panel.locator("table").nth(2 - tied).is_hidden()
    mixed = shown.table(caption)
    assert {len(x.partition(".")[2]) for x in mixed[3]} == {digits}
    near["atol"] = 0.51 * 10**-digits
    torch.testing.assert_close(numbers(mixed), torch.cat((V, out)), **near)

    drawn: dict[str, Any] = shown.panel.evaluate(DRAWN)
    assert drawn["bars"] == pytest.approx((100 * weights[0]).tolist(), abs=0.01)
    assert [label[0] for label in drawn["labels"]] == ["q", *KEYS, *["out"][: int(tied)]]
    colour = f"rgb({', '.join(str(round(x)) for x in out[0].tolist())})"
    assert drawn["mixture"] == (None if tied else colour)
    assert tied or drawn["swatch"] == colour
    assert_drawn(drawn, q, K, out[0] if tied else None)
    return drawn


def assert_drawn(drawn: dict[str, Any], q: Tensor, K: Tensor, out: Tensor | None) -> None:
    """Tips and what one takes hold of there, names beyond them, shadows on the query's line."""
    down = torch.tensor([1.0, -1.0])
    tips = torch.cat((q, K)) * down
    torch.testing.assert_close(torch.tensor(drawn["grips"]).float(), tips, atol=0.01, rtol=0)
    assert drawn["values"] == pytest.approx(tips[:, 0].tolist())
    assert_arrow(drawn["shafts"][4], *(torch.zeros(2) if out is None else out * down).tolist())
    for tip, shaft, (_, *label) in zip(tips, drawn["shafts"], drawn["labels"], strict=False):
        assert_arrow(shaft, *tip.tolist())
        if tip.norm():
            torch.testing.assert_close(
                torch.tensor(label).float() - tip, 0.5 * F.normalize(tip, dim=0)
            )
    if not q.norm():
        assert drawn["drops"] == drawn["feet"] == [None] * 3
        return
    shadows = (K @ q.T) / q.norm() ** 2 * q * down
    near = {"atol": 1e-5, "rtol": 1e-5}
    torch.testing.assert_close(torch.tensor(drawn["feet"]).float(), shadows, **near)
    torch.testing.assert_close(
        torch.tensor(drawn["drops"]).float(), torch.cat((tips[1:], shadows), dim=1), **near
    )
    end = 10 * F.normalize(tips[0], dim=0)  # along the query, beyond what is seen
    torch.testing.assert_close(torch.tensor(drawn["line"]).float(), torch.cat((-end, end)), **near)


def assert_arrow(path: str, x: float, y: float) -> None:
    """From the origin to the tip, and a barb to either side, back and off the shaft alike."""
    if not (x or y):
        assert path == ""
        return
    points = [[float(n) for n in one.split()] for one in path[1:].replace("M", "L").split("L")]
    start, tip, left, again, right = torch.tensor(points)
    assert not start.any() and tip.equal(again) and tip.tolist() == pytest.approx([x, y])
    barbs = torch.stack((left, right)) - tip
    assert barbs.norm(dim=-1).tolist() == pytest.approx([0.45, 0.45])
    assert F.cosine_similarity(barbs, -tip).tolist() == pytest.approx([math.cos(0.45)] * 2)
    assert not torch.allclose(left, right)


def grip(shown: Instrument, i: int) -> tuple[float, float, float]:
    """Where the tip of an arrow is on the screen, and how many pixels a unit has."""
    shown.panel.locator(".plane").scroll_into_view_if_needed()
    box = shown.panel.locator(".grip").nth(i).bounding_box()
    plane = shown.panel.locator(".plane svg").bounding_box()
    assert box and plane
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, plane["width"] / (2 * EDGE)


def drag(shown: Instrument, i: int, right: float, up: float, beside: float = 0) -> None:
    """With the mouse, by so many units; it takes hold some pixels beside the tip."""
    (x, y, unit), mouse = grip(shown, i), shown.page.mouse
    x += beside
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + right * unit / 2, y - up * unit / 3, steps=3)
    mouse.move(x + right * unit, y - up * unit, steps=3)
    mouse.up()
    mouse.move(x, y)  # and goes away, without it


def test_the_grid_has_a_line_for_each_whole_number(shown: Instrument) -> None:
    path = shown.panel.locator(".grid").get_attribute("d") or ""
    lines = [f"M{i} -5V5" for i in range(-5, 6)] + [f"M-5 {i}H5" for i in range(-5, 6)]
    assert sorted(re.findall(r"M[^M]+", path)) == sorted(lines)


def test_longer_key_outweighs_one_that_points_closer(shown: Instrument) -> None:
    """With the mouse: what is dragged, and what the switches change."""
    says = shown.panel.get_by_role("status")
    drawn = assert_shown(shown, [[2, 0], [2, 1], [1, 2], [-2, 1]])
    assert drawn["tops"] == [["cosines", "dots", "scores", "weights"], [], []]  # lengths are equal
    expect(says).to_have_text(
        "k0 points closest to the query (cosine 0.89) and gets the most weight, 0.80."
    )

    drag(shown, 2, 1, 2, beside=6)  # twice as long: a tie
    assert_shown(shown, [[2, 0], [2, 1], [2, 4], [-2, 1]])
    expect(says).to_have_text("k0 and k1 have the same score, so they get the same weight, 0.50.")
    drag(shown, 2, 0.5, 1)
    tips = [[2, 0], [2, 1], [2.5, 5], [-2, 1]]
    drawn = assert_shown(shown, tips)
    assert drawn["tops"] == [["cosines"], ["lengths", "dots", "scores", "weights"], []]
    expect(says).to_have_text(
        "k1 gets the most weight, 0.67, although k0 points closer to the query (cosine 0.89, "
        "against 0.45 for k1). k1 wins because it's longer."
    )
    shown.panel.get_by_label("Divide by √d_k").uncheck()
    assert_shown(shown, tips, scaled=False)
    shown.panel.get_by_label("Use keys as values").check()
    assert_shown(shown, tips, scaled=False, tied=True)
    expect(says).to_contain_text("also what it hands over")
    drag(shown, 0, -3.5, 1.5)  # the query, to the other side
    tips[0] = [-1.5, 1.5]
    assert_shown(shown, tips, scaled=False, tied=True)
    drag(shown, 3, -9, 9)  # no further than the grid goes
    tips[3] = [-5, 5]
    assert_shown(shown, tips, scaled=False, tied=True)
    shown.panel.get_by_role("button", name="Reset").click()
    assert_shown(shown, [[2, 0], [2, 1], [1, 2], [-2, 1]])


def test_arrow_keys_move_the_tip_that_has_the_focus(shown: Instrument) -> None:
    press = shown.page.keyboard.press
    shown.panel.get_by_label("Use keys as values").focus()
    tips = [[2.0, 0.0], [2.0, 1.0], [1.0, 2.0], [-2.0, 1.0]]
    moves = {
        "ArrowLeft": (-0.5, 0),
        "ArrowRight": (0.5, 0),
        "ArrowUp": (0, 0.5),
        "ArrowDown": (0, -0.5),
    }
    names = ["Query q", *(f"Key {name}" for name in KEYS)]
    for i, (key, (right, up)) in enumerate(moves.items()):
        press("Tab")
        expect(shown.panel.get_by_role("slider", name=names[i])).to_be_focused()
        press(key)
        press(f"Shift+{key}")
        tips[i] = [tips[i][0] + 1.2 * right, tips[i][1] + 1.2 * up]
        drawn = assert_shown(shown, tips)
        x, y = (f"{x:.1f}".removesuffix(".0").replace("-", "−") for x in tips[i])
        length = torch.tensor(tips[i]).norm()
        assert drawn["said"][i] == f"x {x}, y {y}, length {length:.2f}"
    press("Shift+Tab")
    tips[2] = [1.2, 1.6]  # of length 2
    shown.set({"arrows": tips})
    for key, length in (("PageUp", 2.5), ("PageDown", 2), ("PageDown", 1.5)):
        press(key)
        tips[2] = [0.6 * length, 0.8 * length]
        assert_shown(shown, tips)
    for _ in range(12):
        press("ArrowUp")
    press("x")  # means nothing
    tips[2][1] = 5
    assert_shown(shown, tips)
    # A screen reader changes the value itself.
    shown.panel.get_by_role("slider", name="Key k1").evaluate(
        "e => { e.value = -3; e.dispatchEvent(new Event('input')) }"
    )
    tips[2][0] = -3
    assert_shown(shown, tips)

    says = shown.panel.get_by_role("status")
    tips = [[0, 0], [2, 1], [1, 2], [-2, 1]]
    shown.set({"arrows": tips})
    assert_shown(shown, tips)
    expect(says).to_have_text(
        "k0, k1 and k2 have the same score, so they get the same weight, 0.33."
    )
    tips = [[2, 0], [0, 0], [-3, 1], [-2, 1]]
    shown.set({"arrows": tips})
    assert_shown(shown, tips)
    expect(says).to_contain_text("k0 gets the most weight, 0.93, although k2 points closer")
    expect(says).to_contain_text(
        "k0 wins because it's shorter, so its dot product is less negative."
    )
    press("PageUp")  # an arrow of no length has no direction
    press("PageDown")
    tips = [[1, 2], [-2, 0.4], [-4, 2], [3, -2]]
    shown.set({"arrows": tips})
    expect(says).to_contain_text(
        "k1 points closest to the query (cosine 0.00) and gets the most weight"
    )
    assert_shown(shown, tips)


def finger(page: Page) -> Callable[..., None]:
    """A finger, as the browser's own protocol has it: how it touches, and where."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def touch(kind: str, *at: float) -> None:
        points = [{"x": at[0], "y": at[1]}] if at else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    return touch


def test_finger_drags_a_tip_and_scrolls_elsewhere(shown: Instrument) -> None:
    page = shown.page
    page.set_viewport_size({"width": PHONE, "height": 812})
    x, y, unit = grip(shown, 1)
    assert page.locator(".grip").nth(1).bounding_box()["width"] >= 40  # type: ignore[index]
    before, touch = page.evaluate("scrollY"), finger(page)
    touch("touchStart", x, y)
    for step in range(1, 5):
        touch("touchMove", x - step * unit / 2, y + step * unit)
    touch("touchEnd")
    assert page.evaluate("scrollY") == before
    assert_shown(shown, [[2, 0], [0, -3], [1, 2], [-2, 1]])
    # Elsewhere in the plane a finger scrolls the page.
    touch("touchStart", x, y + 4 * unit)
    for step in range(1, 8):
        touch("touchMove", x, y + 4 * unit - 20 * step)
    touch("touchEnd")
    page.wait_for_function(f"scrollY > {before}")
    page.set_viewport_size({"width": WIDE, "height": 900})
