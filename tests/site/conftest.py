"""The site, built once from this tree and served on loopback, and a browser to read it with."""

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from sitekit import chromium_for_tests as chromium

ROOT = Path(__file__).parents[2]


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves as a static host does: a missing address gets 404.html."""

    def log_message(self, *_: object) -> None:
        pass

    def send_error(self, code: int, *rest: object) -> None:
        body = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="session")
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    handler = functools.partial(_Handler, directory=".")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="session")
def address(server: http.server.ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/"


@pytest.fixture(scope="session")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    server: http.server.ThreadingHTTPServer,
    address: str,
) -> Path:
    """The folder of the built site, built to live at the server's address."""
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env=_environment(SITE_URL=address),
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    assert "WARNING" not in build.stderr, build.stderr
    server.RequestHandlerClass = functools.partial(_Handler, directory=str(folder))
    return folder


def _environment(**extra: str) -> dict[str, str]:
    import os

    return os.environ | {"NO_MKDOCS_2_WARNING": "1"} | extra


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    assert path, "no Chromium: run make test, or python -m sitekit.chromium_for_tests"
    # As root, Chromium starts only without its sandbox; the rest keeps it from phoning home.
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=quiet)
        yield running
        running.close()


@pytest.fixture(scope="session")
def readers(browser: Browser) -> dict[str, BrowserContext]:
    """A reader of each kind, who keeps the scripts and styles that all pages share."""
    return {}


@pytest.fixture
def open_page(
    site: Path, address: str, browser: Browser, readers: dict[str, BrowserContext]
) -> Iterator[Callable[..., Page]]:
    """Open a page; whatever it logs or asks of another origin fails the test at the end."""
    pages: list[Page] = []
    trouble: list[str] = []

    def opened(path: str, *, width: int = 1440, expect: int = 200, **options: object) -> Page:
        kind = repr(sorted(options.items()))
        if kind not in readers:
            readers[kind] = browser.new_context(**options)  # type: ignore[arg-type]
        page = readers[kind].new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.on("pageerror", lambda error: trouble.append(f"{path}: {error}"))
        page.on(
            "console",
            lambda m: m.type in ("error", "warning") and trouble.append(f"{path}: {m.text}"),
        )
        page.on(
            "request",
            lambda r: (
                r.url.startswith((address, "data:", "blob:"))
                or trouble.append(f"{path} asks for {r.url}")
            ),
        )
        answer = page.goto(address + path)
        assert answer is not None and answer.status == expect, f"{path}: {answer}"
        return page

    yield opened
    for page in pages:
        page.evaluate("localStorage.clear()")  # what one test chose is not the next one's
        page.close()
    # A browser says of its own accord that a page is not there: that is not the page's doing.
    assert [line for line in trouble if "status of 404" not in line or ".html" not in line] == []
