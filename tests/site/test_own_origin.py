"""Everything comes from the site itself, and nothing that a page does gives a warning."""

import re
from pathlib import Path

from page_visit import Facts
from site_pages import PAGES


def test_page_logs_nothing_and_asks_only_its_own_origin(scripted: Facts) -> None:
    assert scripted["trouble"] == []


def test_page_asks_only_its_own_origin_without_scripts(plain: Facts) -> None:
    assert plain["trouble"] == []


def test_no_page_loads_from_a_foreign_address(site: Path, site_url: str) -> None:
    loading = re.compile(r'(?:\bsrc=|<link [^>]*?\bhref=)"([^"]+)"')
    for path in [*PAGES, "404.html", "en/404.html"]:
        loads = loading.findall((site / path).read_text(encoding="utf-8"))
        assert loads and all("//" not in a or a.startswith(site_url) for a in loads), path
