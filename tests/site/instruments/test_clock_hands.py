"""Clock hands, worked as a person would; what they show is what the library computes."""

import math
import re

import torch
from instrument import Instrument, visit
from playwright.sync_api import expect
from reader import Open
from torch import Tensor

from headwise.positional import frequencies, sinusoidal
from headwise.rotary import Rotary

ROWS, LONGEST = 71, 20
KEY = torch.tensor([1.0, 0, 1, 0, 1, 0, 1, 0])
QUERY = torch.tensor([-0.99, -0.14, 0.96, -0.28, 1, 0, 1, 0])


def vectors(code: str) -> tuple[Tensor, Tensor]:
    """Keys and queries at all positions, (71, 8) each."""
    if code == "sine":
        return sinusoidal(ROWS, 8), sinusoidal(ROWS, 8)
    rotary, positions = Rotary(8, layout="pairs"), torch.arange(ROWS)
    keys, queries = (rotary(x.expand(1, 1, ROWS, 8), positions)[0, 0] for x in (KEY, QUERY))
    return keys, queries


def test_scores_depend_on_the_distance_alone() -> None:
    for code in ("sine", "rotary"):
        keys, queries = vectors(code)
        scores = torch.stack([queries[p : p + LONGEST + 1] @ keys[p] for p in range(51)])
        torch.testing.assert_close(scores, scores[:1].expand_as(scores))
    assert scores[0].argmax() == 3  # this query and this key look three back


def numbers(texts: list[str]) -> Tensor:
    return torch.tensor([float(text.replace("−", "-")) for text in texts])


def drawn(instrument: Instrument, name: str) -> list[str]:
    """The paths of this name in the four dials."""
    paths: list[str] = instrument.panel.locator(f".dial .{name}").evaluate_all(
        "paths => paths.map(path => path.getAttribute('d'))"
    )
    return paths


def assert_shown(instrument: Instrument, code: str, p: int, k: int) -> None:
    """Hands, numbers, the curve and the framed rows are those of the library."""
    keys, queries = vectors(code)
    here, before, there = (x.view(4, 2) for x in (keys[p], queries[p], queries[p + k]))
    tips = {"here": here, "before": before, "there": there}
    for name, pairs in tips.items():
        right, up = pairs.T if code == "sine" else pairs.flip(-1).T
        tips[name] = torch.stack((right, -up), dim=-1)
        found = [numbers(path.removeprefix("M0 0L").split()) for path in drawn(instrument, name)]
        torch.testing.assert_close(torch.stack(found), tips[name], atol=6e-4, rtol=0)
    turns = k * frequencies(8)
    assert_wedges(drawn(instrument, "wedge"), tips["before"], tips["there"], turns)

    _, omega, turned, products, score = instrument.table("ω")
    assert omega == ["1", "0.1", "0.01", "0.001"]
    assert turned == [f"{turn:.4g}" for turn in turns.tolist()]
    torch.testing.assert_close(numbers(products), (here * there).sum(-1), atol=6e-4, rtol=0)
    scores = queries[p : p + LONGEST + 1] @ keys[p]
    torch.testing.assert_close(numbers(score), scores[k : k + 1], atol=6e-4, rtol=0)
    expect(instrument.panel.get_by_role("status")).to_contain_text(score[0])
    assert_curve(instrument, scores, k)
    assert_rows(instrument, code, p, k)


def assert_wedges(wedges: list[str], first: Tensor, last: Tensor, turns: Tensor) -> None:
    """Each opens clockwise, from where its hand was, by the turn without whole rounds."""
    for wedge, start, end, turn in zip(wedges, first, last, turns.tolist(), strict=True):
        numbered = re.fullmatch(r"M0 0L(.+) (.+)A0.6 0.6 0 ([01]) 1 (.+) (.+)Z", wedge)
        assert numbered
        *ends, large = (float(numbered[i]) for i in (1, 2, 4, 5, 3))
        shares = 0.6 * torch.cat((start, end))
        torch.testing.assert_close(torch.tensor(ends), shares, atol=0.0011, rtol=0)
        assert large == (turn % math.tau > math.pi)
        opened = math.atan2(end[1], end[0]) - math.atan2(start[1], start[0])
        assert math.cos(opened - turn) > 0.9999  # clockwise, as down is positive here


def assert_curve(instrument: Instrument, scores: Tensor, k: int) -> None:
    """The curve runs through all scores, from 4 at the top to 0; the dot is at k."""
    chart = instrument.panel.locator(".curve")
    line = str(chart.locator("polyline").get_attribute("points"))
    found = torch.stack([numbers(one.split(",")) for one in line.split()])
    across = 20 + 288 * torch.arange(LONGEST + 1) / LONGEST
    wanted = torch.stack((across, 8 + 100 * (4 - scores) / 4), dim=-1)
    torch.testing.assert_close(found, wanted, atol=0.06, rtol=0)
    dot = chart.locator("circle").evaluate("dot => ['cx', 'cy'].map(x => dot.getAttribute(x))")
    torch.testing.assert_close(numbers(dot), wanted[k], atol=0.06, rtol=0)
    assert chart.locator(".drop").get_attribute("d") == f"M{found[k, 0]:.1f} 8V108"
    ticks = chart.locator("text").evaluate_all(
        """texts => texts.map(text => [text.textContent,
             Number(text.getAttribute("x")), Number(text.getAttribute("y"))])"""
    )
    assert ticks[:3] == [[text, 14, 112 - 25 * int(text)] for text in ("0", "2", "4")]
    assert ticks[3:8] == [[str(at), 20 + 14.4 * at, 122] for at in (0, 5, 10, 15, 20)]
    assert ticks[8][1:] == [164, 137]


def assert_rows(instrument: Instrument, code: str, p: int, k: int) -> None:
    """The table holds all positions, and the frames are around rows p and p + k."""
    tables = vectors(code)[: 1 if code == "sine" else 2]
    maps = instrument.panel.locator(".map g").all()
    assert len(maps) == len(tables)
    for i, (table, cells) in enumerate(zip(tables, maps, strict=True)):
        shades = cells.locator("path").evaluate_all(
            """paths => paths.map(path => [path.getAttribute("d"),
                 path.getAttribute("fill-opacity") * (path.matches(".below") ? -1 : 1)])"""
        )
        found = torch.full_like(table, torch.nan)
        for path, shade in shades:
            for x, y in re.findall(r"M(\d+) (\d+)h10v4h-10z", path):
                found[(int(y) - 1) // 4, (int(x) - 28 - 92 * i) // 10] = shade
        torch.testing.assert_close(found * 20, (found * 20).round())  # in so many shades
        torch.testing.assert_close(found, table, atol=0.0251, rtol=0)
    frames = instrument.panel.locator(".map .frame").evaluate_all(
        "frames => frames.map(frame => ['x', 'y'].map(x => Number(frame.getAttribute(x))))"
    )
    assert frames == [[27, 4 * p], [27 + 92 * (len(tables) - 1), 4 * (p + k)]]
    labels = instrument.panel.locator(".map text").evaluate_all(
        """texts => texts.map(text => [text.textContent, text.getAttribute("text-anchor"),
             Number(text.getAttribute("x")), Number(text.getAttribute("y"))])"""
    )
    right = frames[1][0] + 1 + 80
    assert labels == [
        [str(p), "end", 23, 4 * p + 7],
        [str(p + k), "start", right + 5, 4 * (p + k) + 7],
    ]
    assert instrument.panel.locator(".map").get_attribute("viewBox") == f"0 -3 {right + 28} 289"


def test_hands_and_scores_follow_the_controls(shown: Instrument) -> None:
    panel = shown.panel
    position, shift = (panel.get_by_label(text) for text in ("Position p", "Shift k"))
    said = panel.get_by_role("status")
    assert_shown(shown, "sine", 7, 3)
    expect(said).to_contain_text("From position 7 to 10 the four hands turn by 3, 0.3, 0.03, 0.003")
    curve = panel.locator(".curve polyline").get_attribute("points")
    before = shown.table("ω")
    position.press("End")
    assert_shown(shown, "sine", 50, 3)
    assert shown.table("ω") == before  # the same turn and the same score, wherever it starts
    assert panel.locator(".curve polyline").get_attribute("points") == curve
    shift.press("End")  # more than three rounds of the first hand
    assert_shown(shown, "sine", 50, 20)

    shown.tap(panel.get_by_text("rotary (RoPE)"))
    assert_shown(shown, "rotary", 50, 20)
    box = position.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + box["width"] - 2, middle)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 1, middle, steps=3)
    shown.page.mouse.up()
    shift.press("Home")
    assert_shown(shown, "rotary", 0, 0)
    for _ in range(4):
        shift.press("ArrowRight")
    assert_shown(shown, "rotary", 0, 4)
    expect(said).to_contain_text("The key is turned to position 0 and the query to 4.")
    expect(said).to_contain_text("anywhere else at distance 4. It's highest at distance 3.")
    panel.get_by_role("radio", name="rotary (RoPE)").press("ArrowLeft")
    assert_shown(shown, "sine", 0, 4)


def test_chinese_reader_opens_a_shared_state_on_a_phone(open_page: Open) -> None:
    shared = "clock_hands=code(rotary)p(21)k(9)"
    instrument = visit(open_page, "clock_hands", "zh", shared, width=375)
    assert_shown(instrument, "rotary", 21, 9)
    instrument.panel.get_by_text("正弦编码").click()
    assert_shown(instrument, "sine", 21, 9)
    expect(instrument.panel.get_by_role("status")).to_contain_text("从位置 21 到 30")
