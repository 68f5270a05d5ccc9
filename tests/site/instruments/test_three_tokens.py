"""Three tokens by hand, worked as a person would; what they show is what the library computes."""

import re
from typing import Any

import pytest
import torch
from instrument import Instrument
from page_visit import PHONE, WIDE
from playwright.sync_api import Locator, expect
from torch import Tensor

from headwise.attention import attention

TOKENS = ["cat", "sat", "mat"]
STEPS = ["Q", "K", "dots", "scores", "powers", "weights", "V", "out"]
GIVEN = {
    "X": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]],
    "W_q": (2 * torch.eye(4)).tolist(),
    "W_k": torch.eye(4).tolist(),
    "W_v": torch.eye(4)[:, :2].tolist(),
}
# Of every table: its cells as they are read, and whether they are seen.
TABLES = """panel => Object.fromEntries([...panel.querySelectorAll(".part")].map(part => {
  const all = [...part.querySelectorAll("input, button")]
  const seen = all.map(cell => cell.checkVisibility({ visibilityProperty: true }))
  return [part.className.split(" ")[1], {
    seen: seen.every(Boolean) ? true : seen.some(Boolean) ? null : false,
    cells: [...part.querySelectorAll("tbody tr")].map(row =>
      all.filter(cell => row.contains(cell)).map(cell => cell.value || cell.textContent)),
    heat: [...part.querySelectorAll("tbody td")].map(td => td.style.getPropertyValue("--heat")),
  }]
}))"""
# For each cell in turn: what it is made of, as it is written out, and what lights up.
MADE = """(e, cells) => cells.map(cell => {
  e.set({ cell })
  const texts = selector => [...e.querySelectorAll(selector)].map(one => one.textContent)
  const lit = kind => [...e.querySelectorAll(`td.${kind}`)].map(td => {
    const row = [...td.parentElement.querySelectorAll("td")]
    const name = td.closest(".part").className.split(" ")[1]
    return [name, td.parentElement.sectionRowIndex, row.indexOf(td)]
  })
  return {
    text: texts(".made")[0], says: texts(".says")[0], chosen: lit("chosen"),
    row: { lit: lit("row"), numbers: texts(".made .row") },
    column: { lit: lit("column"), numbers: texts(".made .column") },
  }
})"""


def library(**changed: Any) -> dict[str, Tensor]:
    """Every table, by its name, with attention as the library has it."""
    X, W_q, W_k, W_v = (torch.tensor(x).float() for x in (GIVEN | changed).values())
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    dots = Q @ K.T
    powers = (dots / 2).exp()
    out, weights = attention(Q, K, V)
    return {
        **{"X": X, "W_q": W_q, "W_k": W_k, "W_v": W_v, "Q": Q, "K": K, "V": V, "dots": dots},
        "scores": dots / 2,
        "powers": torch.cat((powers, powers.sum(dim=-1, keepdim=True)), dim=-1),
        **{"weights": weights, "out": out},
    }


def number(text: str) -> float:
    """A number as it is read."""
    return float(text.strip("()").replace("−", "-").replace("∞", "inf"))


def assert_shown(shown: Instrument, step: str, **changed: Any) -> dict[str, Any]:
    """All tables up to a step hold the library's numbers, and the later ones are not seen yet."""
    assert shown.failed() is None
    tables: dict[str, Any] = shown.panel.evaluate(TABLES)
    for name, wanted in library(**changed).items():
        found = torch.tensor([[number(x) for x in row] for row in tables[name]["cells"]])
        torch.testing.assert_close(
            found, wanted, atol=0.00051, rtol=0.06 if wanted.max() > 1e4 else 0
        )
        is_computed = name not in STEPS[STEPS.index(step) + 1 :]
        assert tables[name]["seen"] is is_computed, name
        if name == "weights":
            heat = torch.tensor([float(x) for x in tables[name]["heat"]]).view(3, 3)
            torch.testing.assert_close(heat, wanted, atol=0.00051, rtol=0)
    return tables


def press(shown: Instrument, name: str) -> None:
    shown.panel.get_by_role("button", name=name, exact=True).click()


def cell(shown: Instrument, name: str, i: int, j: int) -> Locator:
    """A cell of a table; the totals are the last column of the powers."""
    rows = shown.panel.locator(f".part.{name} tbody tr")
    return rows.nth(i).locator("input, button").nth(j)


def test_steps_follow_one_another_to_the_output(shown: Instrument) -> None:
    expect(shown.panel.get_by_role("button", name="Back")).to_be_disabled()
    heads = shown.panel.locator(".powers thead th")
    assert heads.all_inner_texts() == [*TOKENS, "total"]
    for i, step in enumerate(STEPS):
        expect(shown.panel.locator(".count")).to_have_text(f"Step {i + 1} of 8")
        expect(shown.panel.locator(".part.now code")).to_contain_text(f"{step} = ")
        expect(shown.panel.locator(".made")).to_contain_text(f"{step}[0, 0] = ")
        expect(shown.panel.get_by_role("status")).to_contain_text(f"{step}[0, 0] = ")
        assert_shown(shown, step)
        if step != "out":
            press(shown, "Next step")
    expect(shown.panel.get_by_role("button", name="Show all")).to_be_disabled()
    press(shown, "Back")
    assert_shown(shown, "V")
    press(shown, "Show all")
    assert_shown(shown, "out")
    press(shown, "Start again")
    assert_shown(shown, "Q")
    # What has not been computed yet cannot be looked at.
    shown.set({"cell": "weights.1.2"})
    assert shown.state()["cell"] == "Q.0.0"
    shown.set({"step": "powers", "cell": "total.1.0"})
    assert shown.state()["cell"] == "total.1.0"
    shown.set({"step": "scores"})
    assert shown.state()["cell"] == "scores.0.0"


def test_every_number_shows_what_it_is_made_of(shown: Instrument) -> None:
    """The sum that is written out gives the number, and is of the row and column that light up."""
    torch.manual_seed(0)
    given = {
        name: torch.randn(len(x), len(x[0])).round(decimals=2).tolist() for name, x in GIVEN.items()
    }
    shown.set(given | {"step": "out"})
    tables = library(**given)
    cells = [key for key in shown.controls()["cell"]["options"]]
    assert len(cells) == 75
    for key, made in zip(cells, shown.element.evaluate(MADE, cells), strict=True):
        name, i, j = re.sub(r"total\.(\d)\.0", r"powers.\1.3", key).split(".")
        at = [name, int(i), int(j)]
        assert made["chosen"] == [at]
        for kind, wanted in zip(("row", "column"), expected_sources(*at), strict=True):
            assert sorted(made[kind]["lit"]) == sorted(wanted), key
            read = [float(tables[source][k, m]) for source, k, m in wanted]
            found = [number(x) for x in made[kind]["numbers"]]
            assert found == pytest.approx(read, abs=0.00051), key
        left, *middle, right = made["text"].split(" = ")
        label = key.split(".")
        assert left == f"{label[0]}[{label[1]}, {label[2]}]"
        assert made["says"].startswith(f"{left} = {right}. ")
        assert TOKENS[int(i)] in made["says"] or name in ("scores", "powers")
        value = float(tables[name][int(i), int(j)])
        assert number(right) == pytest.approx(value, abs=0.00051)
        sum_ = middle[0].replace("−", "-").replace("×", "*").replace("√4", "2")
        exp = {"exp": lambda x: torch.tensor(x).exp().item()}
        assert eval(sum_, exp) == pytest.approx(value, rel=2e-3, abs=4e-3), made["text"]


def expected_sources(name: str, i: int, j: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """The cells of the row and those of the column that a cell is made of."""
    if name in ("Q", "K", "V"):
        return [["X", i, k] for k in range(4)], [[f"W_{name.lower()}", k, j] for k in range(4)]
    if name == "dots":
        return [["Q", i, k] for k in range(4)], [["K", j, k] for k in range(4)]
    if name == "scores":
        return [["dots", i, j]], []
    if name == "powers":
        return ([["powers", i, k] for k in range(3)] if j == 3 else [["scores", i, j]]), []
    if name == "weights":
        return [["powers", i, j]], [["powers", i, 3]]
    return [["weights", i, k] for k in range(3)], [["V", k, j] for k in range(3)]


def test_any_number_can_be_changed_and_bad_ones_do_no_harm(shown: Instrument) -> None:
    press(shown, "Show all")
    given = {name: [list(row) for row in x] for name, x in GIVEN.items()}
    message, status = shown.panel.get_by_role("alert"), shown.panel.get_by_role("status")
    for name, i, j, text, x in [
        ("X", 0, 2, "2", 2), ("W_q", 3, 3, "-1.5", -1.5), ("W_k", 0, 1, "−.25", -0.25),
        ("W_v", 3, 0, "３", 3), ("X", 2, 1, "1e-1", 0.1),
    ]:  # fmt: skip
        box = shown.panel.get_by_label(f"{name}[{i}, {j}]")
        box.fill(text)
        given[name][i][j] = x
        assert shown.state()[name] == given[name]  # while it is typed
        box.press("Enter")
        assert_shown(shown, "out", **given)
        assert message.count() == 0
    box = shown.panel.get_by_label("X[1, 0]")
    for text, said in [
        ("abc", "“abc” isn't a number"),
        ("NaN", "isn't a number"),
        ("", "isn't"),
        ("<b>", "“<b>”"),
    ]:
        box.fill(text)
        box.press("Enter")
        expect(message).to_contain_text(said)
        assert_shown(shown, "out", **given)
        expect(box).to_have_value("0")
    for text, x in [("1e30", 9), ("-Infinity", -9)]:
        box.fill(text)
        assert shown.state()["X"][1][0] == x
        box.press("Enter")
        expect(message).to_contain_text(f"so “{text}” became the nearest of them")
        expect(box).to_have_value(str(x))
    box.fill("1.005")  # hundredths are as fine as it gets
    box.press("Tab")
    assert message.count() == 0
    given["X"][1][0] = shown.state()["X"][1][0]
    assert given["X"][1][0] in (1, 1.01)
    assert_shown(shown, "out", **given)

    # Powers beyond float32: the weights hold, and it is said why.
    for j in (0, 2):
        shown.panel.get_by_label(f"X[0, {j}]").fill("9")
        given["X"][0][j] = 9
    assert_shown(shown, "out", **given)
    tables = library(**given)
    lost = [TOKENS[i] for i in range(3) if tables["powers"][i, 3].item() == torch.inf]
    assert 0 < len(lost) < 3
    expect(status).to_contain_text(f"The scores of {' and '.join(lost)} are too large or too small")
    i = TOKENS.index(lost[0])
    for j in range(3):
        cell(shown, "weights", i, j).hover()
        text = shown.panel.locator(".made").inner_text()
        _, sum_, right = text.replace("−", "-").split(" = ")
        sum_ = re.sub(r"exp\((.+?) - (\(?)(-?[\d.]+)(\)?)\)", r"exp(\1 - \2\3\4)", sum_)
        exp = {"exp": lambda x: torch.tensor(float(x)).exp().item()}
        assert eval(sum_, exp) == pytest.approx(tables["weights"][i, j].item(), abs=1e-3)
        assert float(right) == pytest.approx(tables["weights"][i, j].item(), abs=1e-3)
    all_nine = [[9] * 4] * 3
    shown.set({"X": all_nine, "W_q": (-torch.eye(4)).tolist()})  # every power is 0
    assert_shown(shown, "out", **given | {"X": all_nine, "W_q": (-torch.eye(4)).tolist()})
    expect(status).to_contain_text("The scores of cat, sat and mat are too large or too small")
    press(shown, "Start again")  # where nothing has been raised to a power yet
    expect(status).not_to_contain_text("float32")
    press(shown, "Reset")
    assert_shown(shown, "Q")


def test_keyboard_walks_through_cells_and_tables(shown: Instrument) -> None:
    key = shown.page.keyboard.press
    next_step = shown.panel.get_by_role("button", name="Next step")
    for name in GIVEN:  # a table is entered at the cell that was visited last
        cell(shown, name, 0, 0).focus()
    next_step.focus()
    for _ in range(2):
        key("Enter")
    expect(next_step).to_be_focused()
    key("Tab")  # Show all
    for name in ("X", "W_q", "Q", "W_k", "K", "W_v", "dots"):
        key("Tab")
        expect(cell(shown, name, 0, 0)).to_be_focused()
    assert shown.state()["cell"] == "dots.0.0"
    moves = "Right 0.1, Down 1.1, Down 2.1, Down 2.1, Right 2.2, Right 2.2, Up 1.2, Left 1.1"
    for to, at in (move.split() for move in moves.split(", ")):
        key(f"Arrow{to}")
        assert shown.state()["cell"] == f"dots.{at}"
        expect(cell(shown, "dots", *map(int, at.split(".")))).to_be_focused()
        expect(shown.panel.locator(".made")).to_contain_text(f"dots[{at.replace('.', ', ')}] = ")
    key("Shift+Tab")
    expect(cell(shown, "W_v", 0, 0)).to_be_focused()
    key("Tab")  # back to where it was
    expect(cell(shown, "dots", 1, 1)).to_be_focused()

    cell(shown, "X", 1, 1).focus()
    key("ArrowRight")  # all of it is selected
    expect(cell(shown, "X", 1, 2)).to_be_focused()
    shown.page.keyboard.type("-2.5")
    assert shown.state()["X"][1][2] == -2.5
    for _ in range(4):  # to the beginning of the number, and on
        key("ArrowLeft")
        expect(cell(shown, "X", 1, 2)).to_be_focused()
    key("ArrowLeft")
    expect(cell(shown, "X", 1, 1)).to_be_focused()
    key("ArrowUp")
    expect(cell(shown, "X", 0, 1)).to_be_focused()
    key("ArrowUp")
    expect(cell(shown, "X", 0, 1)).to_be_focused()
    shown.page.keyboard.type("3")
    key("ArrowRight")
    expect(cell(shown, "X", 0, 2)).to_be_focused()
    assert_shown(shown, "dots", X=[[1, 3, 1, 0], [0, 1, -2.5, 1], [1, 0, 0, 1]])


def test_mouse_and_finger_point_at_numbers(shown: Instrument) -> None:
    """On a phone, a step shows the tables that it needs, whole."""
    shown.page.set_viewport_size({"width": PHONE, "height": 812})
    needs = "X W_q Q, X W_k K, Q K dots, dots scores, scores powers, powers weights, X W_v V"
    whole = shown.panel.locator(".whole")
    for step, names in zip(STEPS, [*needs.split(", "), "V weights out"], strict=True):
        tables = shown.panel.evaluate(TABLES)
        assert {name for name, table in tables.items() if table["seen"]} == {*names.split()}
        assert whole.evaluate("e => e.scrollWidth <= e.clientWidth")
        whole.evaluate("e => e.scrollIntoView({ block: 'center' })")
        shown.tap(cell(shown, step, 2, 1))
        expect(shown.panel.locator(".made")).to_contain_text(f"{step}[2, 1] = ")
        assert shown.state()["cell"] == f"{step}.2.1"
        if step != "out":
            shown.tap(shown.panel.get_by_role("button", name="Next step"))
    whole.evaluate("e => e.scrollIntoView({ block: 'center' })")
    shown.tap(cell(shown, "weights", 0, 2))
    expect(shown.panel.locator(".made")).to_contain_text("weights[0, 2] = ")
    shown.page.set_viewport_size({"width": WIDE, "height": 900})
    assert_shown(shown, "out")
    cell(shown, "powers", 1, 3).hover()
    expect(shown.panel.locator(".made")).to_have_text("total[1, 0] = 1 + 7.389 + 2.718 = 11.107")
    cell(shown, "X", 1, 1).hover()  # of which nothing is made
    assert shown.state()["cell"] == "total.1.0"
