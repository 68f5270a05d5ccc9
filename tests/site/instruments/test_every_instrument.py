"""What holds of every instrument, whatever it shows."""

import contextlib
import gzip
import io
import random
import re
from typing import Any
from urllib.parse import quote

import pytest
import torch
from axe_playwright_python.base import AXE_SCRIPT
from instrument import NAMES, Instrument, ask, drawn, places, visit
from page_visit import AXE, OVERHANG, PHONE
from playwright.sync_api import Browser, expect
from reader import Open

from sitekit.graphs import INSTRUMENTS

every = pytest.mark.parametrize("name", NAMES)
SHARED = ("frame.js", "runtime.js", "operators.js", "tensor.js", "views.js", "instruments.css")
LIMIT = 30 * 1024


def made_up(name: str) -> list[str]:
    """Addresses that somebody mistyped, or made up."""
    return [
        f"{name}=",
        f"{name}=__proto__(1)constructor(2)toString(3)",
        f"{name}=" + "(" * 3000,
        f"{name}=%E0%A4%A",
    ]


@every
def test_python_makes_what_is_shown(open_page: Open, name: str) -> None:
    """The block is run for drawn states: what it calls by a name is what the result has there."""
    instrument, chance = visit(open_page, name), random.Random(1)
    controls = instrument.controls()
    compared = 0
    for found in instrument.states([drawn(controls, chance) for _ in range(40)]):
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


@every
def test_state_is_in_the_address_and_comes_back(open_page: Open, name: str) -> None:
    instrument, chance = visit(open_page, name), random.Random(2)
    instrument.set(drawn(instrument.controls(), chance))
    state = instrument.state()
    instrument.page.wait_for_url(re.compile(rf"\?{name}="))
    query = instrument.page.url.partition("?")[2]
    assert visit(open_page, name, query=query).state() == state
    again = visit(open_page, name, "zh", query)
    assert again.state() == state
    again.panel.get_by_role("button", name="重置").click()
    first = {key: control["value"] for key, control in again.controls().items()}
    assert again.state() == first
    again.page.wait_for_url(re.compile(r"^[^?]*$"))


@every
def test_made_up_state_is_made_valid(open_page: Open, name: str) -> None:
    controls = visit(open_page, name).controls()
    texts = ("1e30", "-1e30", "NaN", "", "千千", "<b>")
    wild = [f"{name}=" + "".join(f"{key}({quote(text)})" for key in controls) for text in texts[:2]]
    for query in [*made_up(name), *wild]:
        instrument = visit(open_page, name, query=query)
        assert_valid(instrument, controls)
    for text in texts:  # as if typed, where a control takes any text
        instrument.set(dict.fromkeys(controls, text))
        assert_valid(instrument, controls)


def assert_valid(instrument: Instrument, controls: dict[str, dict[str, Any]]) -> None:
    """Nothing failed, and every control is at a value that it has."""
    assert instrument.failed() is None
    for key, value in instrument.state().items():
        control = controls[key]
        if control["kind"] == "range":
            assert control["min"] <= value <= control["max"]
        elif control["kind"] == "choice":
            assert value in control["options"]
        elif control["kind"] == "toggle":
            assert value in (True, False)


@every
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_all_fits_a_phone(
    open_page: Open, name: str, language: str, scheme: str
) -> None:
    instrument = visit(open_page, name, language, width=PHONE, scheme=scheme)
    page, chance = instrument.page, random.Random(3)
    page.evaluate(AXE_SCRIPT)
    instrument.panel.locator("summary").click()
    for _ in range(4):
        assert page.evaluate(OVERHANG) <= 0
        found = page.evaluate(AXE.replace("axe.run(", "axe.run('.panel', "), {})
        assert found == []
        instrument.set(drawn(instrument.controls(), chance))


@every
def test_every_control_is_reached_by_keyboard(open_page: Open, name: str) -> None:
    instrument = visit(open_page, name)
    reached = set()
    instrument.panel.locator("button").first.focus()
    for _ in range(200):
        instrument.page.keyboard.press("Tab")
        at = instrument.page.evaluate(
            """() => {
              const at = document.activeElement
              return at.closest(".panel") && (at.name || at.id)
            }"""
        )
        if at is None:
            break
        reached.add(at)
    tables = {key for key, control in instrument.controls().items() if control["kind"] == "table"}
    assert {f"{name}-{key}" for key in instrument.controls().keys() - tables} <= reached


@every
@pytest.mark.parametrize("language", ["zh", "en"])
def test_figure_stays_without_scripts(open_page: Open, name: str, language: str) -> None:
    page = open_page(places()[name, language], scripts=False)
    place = page.locator(f'[data-instrument="{name}"]').first
    expect(place.locator("figure")).to_be_visible()
    expect(place.locator(".panel")).to_have_count(0)


@every
@pytest.mark.parametrize(
    "lost", ["**/graphs/*.json", "**/instruments/frame.js", "**/instruments.css"]
)
def test_figure_stays_if_something_does_not_load(
    browser: Browser, address: str, name: str, lost: str
) -> None:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route(lost, lambda route: route.fulfill(status=404, body=""))
    page.goto(address + places()[name, "en"])
    place = page.locator(f'[data-instrument="{name}"]').first
    with page.expect_response(lambda answer: answer.status == 404):
        ask(place)
    page.wait_for_timeout(200)
    expect(place.locator("figure")).to_be_visible()
    expect(place.locator(".panel")).to_have_count(0)
    page.close()
    assert errors == []


@every
def test_instrument_is_small(name: str) -> None:
    imported = re.findall(r'from "\./(.+?)"', (INSTRUMENTS / f"{name}.js").read_text("utf-8"))
    files = [INSTRUMENTS / one for one in {*SHARED, *imported, f"{name}.js"}]
    assert sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) <= LIMIT
