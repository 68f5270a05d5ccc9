"""The pages of the site, as its sources name them and as they are built."""

import functools
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

DOCS = Path(__file__).parents[2] / "docs"


def _address(file: Path) -> str:
    language, *rest = file.relative_to(DOCS).with_suffix(".html").parts
    return "/".join(rest if language == "zh" else [language, *rest])


_SOURCES = {
    _address(file): file for file in sorted(DOCS.glob("*/**/*")) if file.suffix in (".md", ".py")
}
PAGES = list(_SOURCES)
LABS = [path for path in PAGES if "labs/" in path]

# How many figures each page shows that shows any.
FIGURES = {
    path: count
    for path, file in _SOURCES.items()
    if (count := len(re.findall(r"^(?:# )?!\[.+\]\(\S+\.svg\)$", file.read_text("utf-8"), re.M)))
}

# The instruments of each page that has any: their names, and what else their places say.
INSTRUMENTS = {
    path: found
    for path, file in _SOURCES.items()
    if (found := re.findall(r'data-instrument="(\w+)"(.*)>', file.read_text("utf-8")))
}


def language(path: str) -> str:
    return "en" if path.startswith("en/") else "zh"


@functools.cache
def article(site: Path, path: str) -> Tag:
    """What a built page says, without the frame around it."""
    page = (site / path).read_text(encoding="utf-8")
    page = page[page.index("<article") : page.index("</article>")]
    page = re.sub(r"<(pre|svg|math)\b.*?</\1>", "", page, flags=re.S)  # most of it, and no links
    found = BeautifulSoup(page, "html.parser").article
    assert found
    return found
