"""An instrument on its page, as a reader meets it and as a test asks it."""

import functools
import random
from typing import Any

from playwright.sync_api import Locator, Page
from reader import Open
from site_pages import INSTRUMENTS, language


@functools.cache
def places() -> dict[tuple[str, str], str]:
    """The first page in each language that carries each instrument."""
    found: dict[tuple[str, str], str] = {}
    for path, instruments in INSTRUMENTS.items():
        for name, _ in instruments:
            found.setdefault((name, language(path)), path)
    return found


NAMES = sorted({name for name, _ in places()})


def ask(place: Locator) -> None:
    """Turn to an instrument: by its button if it has one, else it comes when it is seen."""
    place.scroll_into_view_if_needed()
    if (button := place.locator("> button")).count():
        button.click()


class Instrument:
    """One instrument on an open page, mounted."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.element: Locator = page.locator(f'[data-instrument="{name}"]').first
        ask(self.element)
        self.panel = self.element.locator(".panel")
        self.panel.wait_for()

    def begin_again(self) -> None:
        """As if its page had just been opened: nothing is set, chosen, unfolded or pointed at."""
        self.page.mouse.move(0, 0)
        self.element.evaluate(
            """e => {
              document.activeElement.blur()
              for (const fold of e.querySelectorAll("details")) fold.open = false
              const controls = Object.entries(e.instrument.controls)
              e.set(Object.fromEntries(controls.map(([key, { value }]) => [key, value])))
            }"""
        )

    def mounted_at(self, queries: list[str]) -> list[dict[str, Any]]:
        """What it is set to when it is built anew on a page with each of these in its address."""
        found: list[dict[str, Any]] = self.element.evaluate(
            """async (e, queries) => {
              const { mount } = await import("/assets/instruments/frame.js"), states = []
              await new Promise(done => setTimeout(done, 320))  // what was set has its address then
              for (const query of queries) {
                e.querySelector(".panel").remove()
                history.replaceState(null, "", `${location.pathname}?${query}`)
                await mount(e)
                states.push(e.state)
              }
              return states
            }""",
            queries,
        )
        return found

    def tap(self, place: Locator) -> None:
        """Touch it with a finger; Playwright would want a browser with an empty cache for that."""
        box = place.bounding_box()
        assert box
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        client = self.page.context.new_cdp_session(self.page)
        client.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        for kind, points in (("touchStart", [at]), ("touchEnd", [])):
            client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        client.detach()

    def controls(self) -> dict[str, dict[str, Any]]:
        """The controls, as the instrument describes them."""
        return dict(self.element.evaluate("e => e.instrument.controls"))

    def state(self) -> dict[str, Any]:
        """What the controls are set to."""
        return dict(self.element.evaluate("e => e.state"))

    def failed(self) -> str | None:
        """What went wrong, if something did."""
        return self.element.get_attribute("data-failed")

    def set(self, state: dict[str, Any]) -> None:
        """Set controls, as a script can, and wait until it is seen."""
        self.element.evaluate(
            "(e, state) => { e.set(state); return new Promise(requestAnimationFrame) }", state
        )

    def states(self, states: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """For each state: the tensors of the result by name, what is said, and the Python."""
        found: list[dict[str, Any]] = self.element.evaluate(
            """(e, states) => states.map(state => {
              e.set(state)
              const tensors = Object.entries(e.result).filter(([, x]) => x?.strides)
              const text = x => typeof x === "number" && !Number.isFinite(x) ? String(x) : x
              return {
                failed: e.dataset.failed ?? "", state: e.state,
                said: e.querySelector(".says").textContent,
                python: e.querySelector(".python code").textContent,
                tensors: Object.fromEntries(tensors.map(([name, x]) =>
                  [name, { shape: x.shape, numbers: Array.from(x.flat(), text) }])),
              }
            })""",
            states,
        )
        return found

    def table(self, caption: str) -> list[list[str]]:
        """The cells of the table whose caption begins so, as they are read."""
        table = self.panel.locator("table", has_text=caption).first
        cells: list[list[str]] = table.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
        )
        return cells


def visit(
    open_page: Open, name: str, language: str = "en", query: str = "", **options: Any
) -> Instrument:
    """Open the first page with this instrument; the query begins behind the question mark."""
    path = places()[name, language]
    return Instrument(open_page(path + (f"?{query}" if query else ""), **options), name)


def drawn(controls: dict[str, dict[str, Any]], chance: random.Random) -> dict[str, Any]:
    """A state, as chance has it; text stays as it is, and is for the instrument's own test."""
    state: dict[str, Any] = {}
    for name, control in controls.items():
        if control["kind"] == "range":
            step = control.get("step", 1)
            steps = round((control["max"] - control["min"]) / step)
            state[name] = control["min"] + step * chance.randint(0, steps)
        elif control["kind"] == "choice":
            state[name] = chance.choice(control["options"])
        elif control["kind"] == "toggle":
            state[name] = chance.random() < 0.5
        elif control["kind"] == "set":
            state[name] = [one for one in control["options"] if chance.random() < 0.2]
        elif control["kind"] == "table":
            state[name] = [
                [round(chance.uniform(-2, 2), 1) for _ in row] for row in control["value"]
            ]
    return state
