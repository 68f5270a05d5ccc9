"""A reader: one tab of the browser, in which pages are opened one after another."""

from collections.abc import Callable
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize

Scheme = Literal["light", "dark"]
Open = Callable[..., Page]


# Search would get its whole index again on every page; only its own test needs that.
NO_WORKER = "Worker = class extends EventTarget { postMessage() {} terminate() {} }"


class Reader:
    """Opens pages in a tab of its own, and notes what they log or ask of another origin."""

    def __init__(
        self, browser: Browser, address: str, *, scripts: bool = True, search: bool = False
    ) -> None:
        self.address = address
        self.trouble: list[str] = []
        self._missing = ""
        self.page = browser.new_context(java_script_enabled=scripts).new_page()
        if not search:
            self.page.add_init_script(NO_WORKER)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", self._watch)

    def _note(self, what: str) -> None:
        self.trouble.append(f"{self.page.url.removeprefix(self.address)}: {what}")

    def _hear(self, message: ConsoleMessage) -> None:
        # A browser says of its own accord that a page is not there: that is not the page's doing.
        expected = message.location["url"] == self._missing
        if message.type in ("error", "warning") and not expected:
            self._note(message.text)

    def _watch(self, request: Request) -> None:
        if not request.url.startswith((self.address, "about:", "data:", "blob:")):
            self._note(f"asks for {request.url}")

    def start(
        self, path: str, *, width: int = 1440, scheme: Scheme = "light", expect: int = 200
    ) -> None:
        """Begin to open a page, and do not wait until it has loaded."""
        self._missing = self.address + path if expect == 404 else ""
        size: ViewportSize = {"width": width, "height": 900}
        # Or the page before would be laid out again, and note the other colours as its reader's
        # choice; or a section of it be all that is opened.
        self.page.goto("about:blank")
        if self.page.viewport_size != size:
            self.page.set_viewport_size(size)
        self.page.emulate_media(media="screen", color_scheme=scheme)
        answer = self.page.goto(self.address + path, wait_until="commit")
        assert answer is not None and answer.status == expect, f"{path}: {answer}"

    def open(self, path: str, **options: Any) -> Page:
        """The tab with this page in it, once it has loaded."""
        self.start(path, **options)
        self.page.wait_for_load_state()
        return self.page

    def leave(self) -> list[str]:
        """What pages logged or asked of others since last time; what was chosen is forgotten."""
        if self.page.url.startswith(self.address):
            self.page.evaluate("localStorage.clear()")
        heard, self.trouble = self.trouble, []
        return heard
