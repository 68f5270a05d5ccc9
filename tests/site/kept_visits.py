"""What the browser measured on a page is kept until the page, or what looks at it, changes."""

import fcntl
import functools
import hashlib
import importlib.metadata
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT

from proseproof.report import write_whole
from sitekit import chromium_for_tests, static_host

LOOKS = (".css", ".js", ".woff", ".woff2", ".ttf", ".svg", ".png", ".ico")
HERE = Path(__file__).parent
ASKING = [
    *(HERE / name for name in ("conftest.py", "page_visit.py", "reader.py", "kept_visits.py")),
    Path(static_host.__file__),
]


def once(result: Path, make: Callable[[Path], None]) -> Path:
    """The file or folder `result`, made by the process that comes first: the others wait.

    If that one dies over it, the next begins anew: the system takes the lock from the dead.
    """
    draft = result.with_suffix(".draft")
    with result.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            if draft.is_dir():
                shutil.rmtree(draft)
            make(draft)
            draft.rename(result)
    return result


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _said(*command: str) -> bytes:
    found = shutil.which(command[0])
    return subprocess.run(command, capture_output=True).stdout if found else b""


@functools.cache
def _browser() -> str:
    """The browser, the system's fonts, and all that asks them."""
    asked = [file.read_bytes() for file in ASKING] + [AXE_SCRIPT.encode()]
    version = importlib.metadata.version("playwright").encode()
    fonts = b"\n".join(sorted(_said("fc-list").splitlines()))
    return _hash(_said(chromium_for_tests.find() or "", "--version"), version, fonts, *asked)


@functools.cache
def _looks(site: Path) -> str:
    """Styles, scripts, fonts and pictures, any of which any page may use."""
    files = sorted(file for file in site.rglob("*") if file.suffix in LOOKS)
    return _hash(*(str(one.relative_to(site)).encode() + b":" + one.read_bytes() for one in files))


class Visits:
    """Measurements by page: kept ones that still stand, and those that are made now.

    `shared` is a folder of this run, in which its processes find what one of them has measured.
    """

    def __init__(self, site: Path, folder: Path, shared: Path, again: bool = False) -> None:
        self.site, self.folder, self.shared, self.again = site, folder, shared, again

    def get(self, path: str, kind: str, measure: Callable[[], Any]) -> tuple[Any, str]:
        """What was measured on a page, and why it was measured now: nothing if it stood."""
        name = f"{path.replace('/', '-')}.{kind}.json"
        kept, why = self.folder / name, ""

        def make(draft: Path) -> None:
            parts = {
                "the page": _hash((self.site / path).read_bytes()),
                "the site's looks": _looks(self.site),
                "the browser or what asks it": _browser(),
            }
            nonlocal why
            facts, why = (None, "asked for") if self.again else _read(kept, parts)
            if why:
                facts = measure()
                text = json.dumps({"parts": parts, "facts": facts})
                write_whole(kept, f"{_hash(text.encode())}\n{text}")
            draft.write_text(json.dumps(facts), encoding="utf-8")

        file = once(self.shared / name, make)
        return json.loads(file.read_text(encoding="utf-8")), why


def _read(file: Path, parts: dict[str, str]) -> tuple[Any, str]:
    """What is kept in a file, and why it does not stand; nothing when it does."""
    if not file.is_file():
        return None, "not visited before"
    try:
        check, _, text = file.read_text(encoding="utf-8").partition("\n")
        if _hash(text.encode()) != check:
            raise ValueError
        data = json.loads(text)
    except (OSError, ValueError):
        return None, "what was kept is damaged"
    changed = [name for name, value in parts.items() if data["parts"].get(name) != value]
    return data["facts"], f"{changed[0]} changed" if changed else ""
