"""How long instruments take to follow a change, with the processor slowed down four times.

bench/site.py builds the site and asks for this. Wanted are updates below 50 ms, and ten words a
second from the translator, whose updates are those that translate nothing new; and at most 30 KB
for an instrument with all that it shares with others.
"""

from __future__ import annotations

import gzip
import re
import statistics
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from sitekit import chromium_for_tests
from sitekit.instruments import FOLDER, scripts

DOCS = Path(__file__).parents[1] / "docs"
SLOWER, BAR, WORDS_BAR, SIZE_BAR = 4, 50, 10, 30 * 1024

# Milliseconds of each change, from the first state or from the largest: every control in turn is
# set away from what it is at, and back. What is laid out anew after a change counts too.
CHANGES = """(e, largest) => {
  const times = [], other = (control, value) => control.kind === "toggle" ? !value
    : control.kind === "choice" ? control.options.find(one => one !== value)
      : control.kind === "range" ? (value === control.min ? control.max : control.min)
        : control.kind === "set" ? control.options.slice(0, 1)
          : control.kind === "table" ? value.map(row => row.map(x => x / 2)) : value
  const controls = Object.entries(e.instrument.controls)
  e.set(Object.fromEntries(controls.map(([key, control]) =>
    [key, largest && control.kind === "range" ? control.max : control.value])))
  for (const [key, control] of controls) {
    const before = e.state[key]
    for (const value of [other(control, before), before, other(control, before), before]) {
      const start = performance.now()
      e.set({ [key]: value })
      e.getBoundingClientRect()
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


def size(name: str) -> int:
    """Bytes of an instrument over the wire, with the modules and the style that it shares."""
    files = [DOCS / FOLDER / "instruments.css", *scripts(DOCS, name)]
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)


def measure(page: Page, name: str) -> dict[str, float]:
    """Updates slowed down and not, the translator's words a second, and the size."""
    place = page.locator(f'[data-instrument="{name}"]').first
    place.scroll_into_view_if_needed()
    if (button := place.locator("> button")).count():
        button.click()
    place.locator(".panel").wait_for()
    for largest in (False, True):  # once, until the browser has compiled what it runs
        place.evaluate(CHANGES, largest)
    found = {"at full speed ms": statistics.median(place.evaluate(CHANGES, False))}
    client = page.context.new_cdp_session(page)
    client.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    for state, largest in (("first", False), ("largest", True)):
        times = [time for _ in range(3) for time in place.evaluate(CHANGES, largest)]
        found[f"{state} ms"] = statistics.median(times)
        found[f"{state}, slowest tenth ms"] = statistics.quantiles(times, n=10)[-1]
    if name == "translator":
        found["words a second"] = place.evaluate(TRANSLATION)
    return found | {"bytes": size(name)}


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
    """The results in Markdown, and what misses its bar."""
    columns = list(dict.fromkeys(key for row in results.values() for key in row))
    lines = [
        f"| instrument, slowed down | {' | '.join(columns)} |",
        "|---" * len(columns) + "|---|",
    ]
    for name, row in results.items():
        cells = (f"{row[key]:.{'ms' in key:d}f}" if key in row else "" for key in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name, row in results.items():
        late = max(row["first ms"], row["largest ms"]) >= BAR
        few = row.get("words a second", WORDS_BAR) < WORDS_BAR
        large = row["bytes"] > SIZE_BAR
        missed = [("late", late), ("few words", few), ("large", large)]
        lines += [f"{name}: {what}" for what, misses in missed if misses]
    return "\n".join(lines)
