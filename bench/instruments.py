"""How long instruments take to follow a change, with the processor slowed down four times.

bench/site.py builds the site and asks for this. Wanted are updates below 50 ms, and ten words a
second from the translator, whose updates are those that translate nothing new.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from sitekit import chromium_for_tests

DOCS = Path(__file__).parents[1] / "docs"
SLOWER = 4

# Milliseconds of each change: every control in turn is set to what it is at, and away from it.
CHANGES = """e => {
  const times = [], other = (control, value) => control.kind === "toggle" ? !value
    : control.kind === "choice" ? control.options.find(one => one !== value)
      : control.kind === "range" ? (value === control.min ? control.max : control.min)
        : control.kind === "set" ? control.options.slice(0, 1)
          : control.kind === "table" ? value.map(row => row.map(x => x / 2)) : value
  for (const [key, control] of Object.entries(e.instrument.controls)) {
    const before = e.state[key]
    for (const value of [other(control, before), before, other(control, before), before]) {
      const start = performance.now()
      e.set({ [key]: value })
      times.push(performance.now() - start)
    }
  }
  return times
}"""

# Words a second, over numbers of all lengths that it has not seen yet.
TRANSLATION = """e => {
  let words = 0
  e.set({ text: "7" })
  const start = performance.now()
  for (let n = 11; n < 1e9; n = n * 7 + 3) {
    e.set({ text: String(n) })
    words += e.result.words.length
  }
  return 1000 * words / (performance.now() - start)
}"""


def pages() -> dict[str, str]:
    """A page of each instrument."""
    found: dict[str, str] = {}
    for file in sorted((DOCS / "en").rglob("*.md")):
        for name in re.findall(r'data-instrument="(\w+)"', file.read_text("utf-8")):
            path = file.relative_to(DOCS).with_suffix(".html").as_posix()
            found.setdefault(name, path)
    return found


def measure(page: Page, name: str) -> dict[str, float]:
    """The median and the longest update, and the translator's words a second."""
    place = page.locator(f'[data-instrument="{name}"]').first
    place.scroll_into_view_if_needed()
    if (button := place.locator("> button")).count():
        button.click()
    place.locator(".panel").wait_for()
    place.evaluate(CHANGES)  # once at full speed, until the browser has compiled what it runs
    client = page.context.new_cdp_session(page)
    client.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    times = place.evaluate(CHANGES)
    found = {"median ms": statistics.median(times), "longest ms": max(times)}
    if name == "translator":
        found["words a second"] = place.evaluate(TRANSLATION)
    return found


def measured(address: str) -> dict[str, dict[str, float]]:
    """What every instrument takes, on the site at this address."""
    results = {}
    with sync_playwright() as playwright:
        path = chromium_for_tests.find()
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, where in pages().items():
            page = chromium.new_page()
            page.goto(address + where)
            results[name] = measure(page, name)
            page.close()
        chromium.close()
    return results


def table(results: dict[str, dict[str, float]]) -> str:
    """The results in Markdown."""
    lines = [
        "| instrument, slowed down | median ms | longest ms | words a second |",
        "|---|---|---|---|",
    ]
    for name, row in results.items():
        words = f"{row['words a second']:.0f}" if "words a second" in row else ""
        lines.append(f"| {name} | {row['median ms']:.1f} | {row['longest ms']:.1f} | {words} |")
    return "\n".join(lines)
