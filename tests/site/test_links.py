"""Where links lead: every one somewhere, from the home page everywhere, and on at a page's end."""

import functools
import html
import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from bs4 import Tag
from site_pages import PAGES, article, language

HERE = "http://site/"


def _targets(path: str, part: Tag) -> set[str]:
    """The pages of this site that links in this part lead to; glossary words do not count."""
    links = part.select("a[href]:not(.term, .headerlink)")
    targets = (urldefrag(urljoin(HERE + path, str(link["href"])))[0] for link in links)
    return {target.removeprefix(HERE) for target in targets if target.startswith(HERE)}


def test_every_built_page_has_a_source(site: Path) -> None:
    built = {file.relative_to(site).as_posix() for file in site.rglob("*.html")}
    assert built - {"404.html", "en/404.html"} == {*PAGES}


@pytest.mark.parametrize("home", ["index.html", "en/index.html"])
def test_every_page_is_three_clicks_from_home(site: Path, home: str) -> None:
    """By links in the text alone: on a phone the navigation is folded away."""
    wanted = {page for page in PAGES if language(page) == language(home)}
    reached = newest = {home}
    for _ in range(3):
        newest = {to for page in newest for to in _targets(page, article(site, page))} & wanted
        reached = reached | newest
    assert len(wanted) > 25
    assert sorted(wanted - reached) == []


def test_every_page_ends_with_where_to_go(site: Path) -> None:
    lost = []
    for path in sorted({*PAGES} - {"index.html", "en/index.html"}):
        last = article(site, path).find_all("h2")[-1]
        onward = set().union(*(_targets(path, part) for part in last.find_next_siblings()))
        if last.get("id") != "next" or not onward - {path}:
            lost.append(path)
    assert lost == []


def test_every_link_and_anchor_leads_somewhere(site: Path, site_url: str) -> None:
    dead = []
    for path in [*PAGES, "404.html", "en/404.html"]:
        for href in re.findall(r'\bhref="([^"]*)"', (site / path).read_text(encoding="utf-8")):
            target, anchor = urldefrag(urljoin(site_url + path, html.unescape(href)))
            if not target.startswith(site_url):
                continue
            file = site / (target.removeprefix(site_url) or "index.html")
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and anchor not in _anchors(file)):
                dead.append(f"{path}: {href}")
    assert dead == []


@functools.cache
def _anchors(file: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8")))
