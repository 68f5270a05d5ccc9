"""For all tests: what is kept, what goes first, what coverage watches, what is said at the end."""

import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent / "tests"))

from kept_tests import KeptTests, is_watched

# What one worker is long busy with goes before what can be spread: labs, then these files. The
# first of them has one worker build the site while the other is at a lab, and not waiting for it.
FIRST = ("tests/site/test_links.py", "tests/test_wheels.py", "tests/headwise/test_data_parallel.py")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests that passed."""
    config.pluginmanager.register(KeptTests(config), "kept-tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left with it at the end."""
    places = {name: place for place, name in enumerate(FIRST, 1)}

    def place(item: pytest.Item) -> int:
        is_lab = item.path.suffix == ".py" and "labs" in item.path.parts[-2:]
        return 0 if is_lab else places.get(item.nodeid.partition("::")[0], len(FIRST) + 1)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Pause coverage around a test of something else; pytest-cov does so for `no_cover`."""
    coverage: Any = sys.modules.get("coverage")
    running = coverage and coverage.Coverage.current()
    if running is None or is_watched(item) or item.get_closest_marker("no_cover"):
        return (yield)
    running.stop()
    try:
        return (yield)
    finally:
        running.start()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which pages the browser visited, and why; the others stand as they were seen before."""
    visited = defaultdict(set)
    ended = [one for how in ("passed", "failed") for one in terminalreporter.stats.get(how, [])]
    for name, value in (said for report in ended for said in report.user_properties):
        if name == "visited":
            visited[value[0]].add(value[1])
    for why, pages in visited.items():
        some = ", ".join(sorted(pages)[:3]) + " …" * (len(pages) > 3)
        terminalreporter.write_line(f"browser: {len(pages)} pages visited, as {why}: {some}")
