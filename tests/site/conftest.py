"""The site, built once from this tree and served on loopback, and readers to open it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from sitekit import chromium_for_tests
from sitekit.static_host import serving

# pytest's importlib mode leaves a test folder off the path, and with it the helpers beside us.
sys.path.append(str(Path(__file__).parent))

from kept_visits import Visits, once
from page_visit import Facts, Visit, Visitor
from reader import Open, Reader
from site_pages import PAGES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of pytest-xdist see, if there are any."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def site_url() -> str:
    """Where the site is built to live: nobody may be asked for anything there."""
    return "http://headwise.test/"


@pytest.fixture(scope="session")
def site(shared: Path, site_url: str) -> Path:
    """The folder of the built site."""

    def build(folder: Path) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
            cwd=ROOT,
            env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "SITE_URL": site_url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert "WARNING" not in run.stderr, run.stderr

    return once(shared / "site", build)


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with serving(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_for_tests.find()
    assert path, "no Chromium: run make test, or python -m sitekit.chromium_for_tests"
    # As root, Chromium starts only without its sandbox; the next two keep it from phoning home, and
    # the last one from starting a process at every page for the next.
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=[*quiet, "--renderer-process-limit=2"]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def readers(browser: Browser, address: str) -> dict[bool, Reader]:
    """A reader with scripts and one without, who open one page after another."""
    return {scripts: Reader(browser, address, scripts=scripts) for scripts in (True, False)}


@pytest.fixture
def open_page(readers: dict[bool, Reader]) -> Iterator[Open]:
    """Open a page; whatever it logs or asks of another origin fails the test at the end."""

    def opened(path: str, *, scripts: bool = True, **options: Any) -> Page:
        return readers[scripts].open(path, **options)

    yield opened
    assert [line for reader in readers.values() for line in reader.leave()] == []


@pytest.fixture(scope="session")
def visitor(browser: Browser, address: str) -> Visitor:
    return Visitor(browser, address)


@pytest.fixture(scope="session")
def visits(site: Path, shared: Path, request: pytest.FixtureRequest) -> Visits:
    again = request.config.getoption("prove_again", False)
    return Visits(site, ROOT / ".cache" / "visits", shared, again)


@pytest.fixture
def visit(visits: Visits, request: pytest.FixtureRequest) -> Visit:
    """Ask a visitor something of a page, unless the answer is known; then no browser starts.

    The conftest.py of the project says at the end of the run what was asked anew.
    """

    def asked(path: str, kind: str, ask: Callable[[Visitor], Facts]) -> Facts:
        facts, why = visits.get(path, kind, lambda: ask(request.getfixturevalue("visitor")))
        if why:
            request.node.user_properties.append(("visited", [why, path]))
        return dict(facts)

    return asked


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest) -> str:
    """Every page in turn, unless a test names its own."""
    return str(request.param)


@pytest.fixture
def facts(visit: Visit, path: str) -> Facts:
    """What was measured on the page."""
    return visit(path, "facts", lambda visitor: visitor.visit(path))


@pytest.fixture
def scripted(facts: Facts) -> Facts:
    """What was measured on the page with scripts."""
    return dict(facts["scripted"])


@pytest.fixture
def plain(facts: Facts) -> Facts:
    """What was measured on the page without scripts."""
    return dict(facts["plain"])
