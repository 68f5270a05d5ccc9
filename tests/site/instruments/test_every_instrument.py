"""What holds of every instrument, whatever it shows."""

import contextlib
import gzip
import io
import random
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch
from axe_playwright_python.base import AXE_SCRIPT
from instrument import NAMES, Instrument, ask, drawn, places, visit
from page_visit import AXE, COLOURS, OVERHANG, PHONE, WIDE, Facts
from playwright.sync_api import expect
from reader import Open, Reader
from site_pages import DOCS, INSTRUMENTS

from sitekit.instruments import FOLDER, scripts

LIMIT = 30 * 1024
in_english = pytest.mark.parametrize("language", ["en"], indirect=True, scope="module")
WITH_BUTTONS = [
    path for path, found in INSTRUMENTS.items() if all("data-button" in said for _, said in found)
]

# A page with nothing else; a browser of some years ago; and why an instrument does not come.
BARE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>alone</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="assets/headwise.css">
<script>{script}</script><article class="md-typeset">{element}</article>
<script src="assets/headwise.js"></script></html>"""
OLD = "for (const name of ['at', 'with', 'toSpliced']) delete Array.prototype[name]"
COME = """place => import("/assets/instruments/frame.js").then(frame => frame.mount(place))
  .then(() => "", String)"""

# Axe would spend most of its time on the rest of the text: it goes, until the function is called.
ALONE = """place => {
  const all = []
  for (let part = place; part.localName !== "main"; part = part.parentElement) {
    all.push([part.parentElement, [...part.parentElement.childNodes]])
    part.parentElement.replaceChildren(part)
  }
  return () => all.reverse().forEach(([parent, nodes]) => parent.replaceChildren(...nodes))
}"""
PANEL = AXE.replace("axe.run(", "axe.run('.panel', ")


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@in_english
def test_python_makes_what_is_shown(shown: Instrument) -> None:
    """The block is run for drawn states: what it calls by a name is what the result has there."""
    chance, controls, compared = random.Random(1), shown.controls(), 0
    for found in shown.states([drawn(controls, chance) for _ in range(40)]):
        assert found["failed"] == ""
        space: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(found["python"], space)
        for key, tensor in found["tensors"].items():
            ours = torch.tensor([float(x) for x in tensor["numbers"]]).reshape(tensor["shape"])
            theirs = space[key].to(ours.dtype)
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True)
            compared += 1
    assert compared >= 40


@in_english
def test_made_up_state_is_made_valid(shown: Instrument, name: str) -> None:
    """Whether it is in the address or, where a control takes any text, typed."""
    controls = shown.controls()
    texts = ("1e30", "-1e30", "NaN", "Infinity", "-0", "", "千千", "<b>", "两" * 5000)
    queries = [
        f"{name}=",
        f"{name}=__proto__(1)constructor(2)toString(3)",
        f"{name}=" + "(" * 3000,
        f"{name}=%E0%A4%A",
        *(f"{name}=" + "".join(f"{key}({quote(x)})" for key in controls) for x in texts),
    ]
    states = shown.mounted_at(queries)
    assert len(states) == len(queries)
    found = shown.states([dict.fromkeys(controls, text) for text in texts])
    assert [one["failed"] for one in found] == [""] * len(texts)
    for state in [*states, *(one["state"] for one in found)]:
        for key, value in state.items():
            control = controls[key]
            if control["kind"] == "range":
                assert control["min"] <= value <= control["max"]
            elif control["kind"] == "choice":
                assert value in control["options"]
            elif control["kind"] == "toggle":
                assert value in (True, False)
            elif control["kind"] == "text":
                assert len(value) <= control["most"]
            elif control["kind"] == "set":
                assert {*value} <= {*control["options"]}
            else:
                numbers = [x for row in value for x in row]
                assert [len(row) for row in value] == [len(row) for row in control["value"]]
                assert all(control["min"] <= x <= control["max"] for x in numbers)


@in_english
def test_what_cannot_be_computed_leaves_what_was_there(shown: Instrument) -> None:
    """Nothing is stuck: the next change is followed."""
    found = shown.element.evaluate(
        """e => {
          const { compute } = e.instrument, view = e.querySelector(".view")
          const before = view.textContent
          const said = () => e.querySelector(".says").textContent
          e.instrument.compute = () => {
            e.instrument.compute = compute
            throw new RangeError("on purpose")
          }
          e.set({})
          const seen = [e.dataset.failed, said(), view.textContent === before]
          e.set({})
          return [...seen, e.dataset.failed ?? ""]
        }"""
    )
    says = "That could not be computed; you see the last result that could."
    assert found == ["RangeError: on purpose", says, True, ""]


def test_axe_finds_nothing_and_all_fits_a_phone(shown: Instrument, language: str) -> None:
    """Only words differ between the languages, and only colours between the schemes."""
    page, chance = shown.page, random.Random(3)
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.evaluate(AXE_SCRIPT)
    shown.panel.locator("summary").click()
    assert page.evaluate(OVERHANG) <= 0
    whole = shown.element.evaluate_handle(ALONE)
    for _ in range(4):
        assert page.evaluate(OVERHANG) <= 0
        if language == "zh":
            assert (
                page.evaluate(PANEL, {"rules": {rule: {"enabled": False} for rule in COLOURS}})
                == []
            )
        else:
            assert page.evaluate(PANEL, {}) == []
            page.emulate_media(color_scheme="dark")
            assert page.evaluate(PANEL, {"runOnly": COLOURS}) == []
            page.emulate_media(color_scheme="light")
        shown.set(drawn(shown.controls(), chance))
    whole.evaluate("whole => whole()")
    page.set_viewport_size({"width": WIDE, "height": 900})


@in_english
def test_every_control_is_reached_by_keyboard(shown: Instrument, name: str) -> None:
    shown.element.evaluate(
        """e => {
          e.reached = []
          e.addEventListener("focusin", ({ target }) => e.reached.push(target.name || target.id))
        }"""
    )
    shown.panel.locator("button").first.focus()
    for _ in range(200):
        shown.page.keyboard.press("Tab")
        if not shown.element.evaluate("e => e.contains(document.activeElement)"):
            break
    reached = shown.element.evaluate("e => e.reached")
    tables = {key for key, control in shown.controls().items() if control["kind"] == "table"}
    assert {f"{name}-{key}" for key in shown.controls().keys() - tables} <= {*reached}


@in_english
def test_figure_stays_if_the_instrument_does_not_come(
    tab: Reader, open_page: Open, site: Path, name: str, language: str
) -> None:
    """If something is lost on the way, or the browser is an old one; and nothing is thrown."""
    text = (site / places()[name, language]).read_text("utf-8")
    element = re.search(rf'<div [^>]*data-instrument="{name}".*?</figure>\s*</div>', text, re.S)
    assert element
    page, own = tab.page, tab.address + "alone.html"

    def come(pattern: str, body: str, status: int = 200, script: str = "") -> str:
        """What goes wrong on a page with nothing else, where this is the answer to a request."""
        html = BARE.format(script=script, element=element[0])
        page.route(own, lambda route: route.fulfill(body=html, content_type="text/html"))
        page.route(
            pattern,
            lambda route: route.fulfill(body=body, status=status, content_type="text/javascript"),
        )
        page.goto(own)
        place = page.locator("[data-instrument]")
        ask(place)
        found = place.evaluate(COME)
        expect(place.locator("figure")).to_be_visible()
        expect(place.locator(".panel")).to_have_count(0)
        if (button := place.locator("> button")).count():
            expect(place.get_by_role("alert")).to_contain_text("press the button again")
            expect(button).to_be_enabled()
        page.unroute_all()
        return str(found)

    for lost in ("**/instruments/frame.js", "**/graphs/*.json", "**/instruments.css"):
        assert come(lost, "", 404)
        if "frame.js" not in lost:  # which a browser may look for only once
            assert page.locator("[data-instrument]").evaluate(COME) == ""
    assert "SyntaxError" in come("**/instruments/frame.js", "export default of tomorrow")
    assert "is not a function" in come("nothing", "", script=OLD)
    heard = tab.leave()
    assert [line for line in heard if "status of 404" not in line] == []


@in_english
def test_state_is_in_the_address_and_comes_back(
    shown: Instrument, open_page: Open, name: str, language: str
) -> None:
    """In the other language too, where a button then puts all back."""
    chance = random.Random(2)
    shown.set(drawn(shown.controls(), chance))
    state = shown.state()
    shown.page.wait_for_url(re.compile(rf"\?{name}="))
    query = shown.page.url.partition("?")[2]
    assert shown.mounted_at([query]) == [state]
    other, reset = {"en": ("zh", "重置"), "zh": ("en", "Reset")}[language]
    again = visit(open_page, name, other, query)
    assert again.state() == state
    again.panel.get_by_role("button", name=reset).click()
    first = {key: control["value"] for key, control in again.controls().items()}
    assert again.state() == first
    again.page.wait_for_url(re.compile(r"^[^?]*$"))


@pytest.mark.parametrize("path", INSTRUMENTS)
def test_figure_stays_without_scripts(plain: Facts, path: str) -> None:
    assert plain["places"] == [["figure"]] * len(INSTRUMENTS[path])


@pytest.mark.parametrize("path", WITH_BUTTONS)
def test_nothing_is_fetched_before_somebody_asks(scripted: Facts, path: str) -> None:
    assert scripted["places"] == [["figure", "button"]] * len(INSTRUMENTS[path])
    assert scripted["fetched"] == []


@pytest.mark.parametrize("name", NAMES)
def test_instrument_is_small(name: str) -> None:
    files = [DOCS / FOLDER / "instruments.css", *scripts(DOCS, name)]
    assert sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) <= LIMIT
