"""What a reader does: switch language, search, change to dark, read on a phone, without scripts."""

import functools
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

Open = Callable[..., Page]
DOCS = Path(__file__).parents[2] / "docs"


def _pages() -> list[str]:
    """The address of every page, from the sources."""
    found = []
    for file in sorted(DOCS.glob("*/**/*")):
        if file.suffix in (".md", ".py"):
            language, *rest = file.relative_to(DOCS).with_suffix(".html").parts
            found.append("/".join(rest if language == "zh" else [language, *rest]))
    return found


PAGES = _pages()


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_switch_keeps_page_and_section(open_page: Open) -> None:
    page = open_page("chapters/attention.html#by-hand")
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/en/chapters/attention.html#by-hand")
    assert page.locator("html").get_attribute("lang") == "en"
    page.get_by_role("link", name="中文").click()
    page.wait_for_url(re.compile(r"/chapters/attention\.html#by-hand$"))
    assert page.locator("html").get_attribute("lang") == "zh"


def test_switch_keeps_the_section_scrolled_to(open_page: Open) -> None:
    page = open_page("questions/scores.html")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelector('#q13-transpose').scrollIntoView()")
    page.wait_for_url("**#q13-transpose")
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/en/questions/scores.html#q13-transpose")


def test_every_page_names_both_languages(site: Path, address: str) -> None:
    for path in PAGES:
        page = (site / path).read_text(encoding="utf-8")
        links = dict(re.findall(r'hreflang="([^"]+)" href="([^"]+)"', page.split("</head>")[0]))
        plain = path.removeprefix("en/")
        assert links["zh"] == links["x-default"], path
        assert links["zh"].removesuffix("index.html") == address + plain.removesuffix("index.html")
        assert links["en"] == f"{address}en/{plain}"


QUERIES = {
    "自注意力": "chapters/attention",
    "注意力": "chapters/attention",
    "掩码": "chapters/masks",
    "因果掩码": "chapters/masks|glossary.html#causal-mask",
    "归一化": "chapters/layers|glossary.html#layer-normalisation",
    "多头": "chapters/multi_head",
    "位置编码": "chapters/positional",
    "转置": "#q13-transpose|glossary.html#transpose|chapters/heads",
    "attention": "chapters/attention",
    "mask": "chapters/masks",
    "softmax": "#q2-scaling|chapters/attention|glossary.html#softmax|labs/scaling.html#softmax",
    "transpose": "#q13-transpose|glossary.html#transpose|chapters/heads|questions/shapes",
}


@pytest.mark.parametrize("query", QUERIES)
def test_search_finds_the_right_page_first(open_page: Open, address: str, query: str) -> None:
    english = query.isascii()
    page = open_page("en/index.html" if english else "index.html")
    box = page.locator(".md-search__input")
    box.click()
    box.press_sequentially(query)
    box.press("End")  # typed Chinese sends no key event of its own
    page.locator(".md-search-result__item").first.wait_for()
    for _ in range(300):  # what is shown at first may still answer the first letters alone
        links = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")
        paths = [re.sub(r"\?[^#]*", "", link.removeprefix(address)) for link in links]
        # A page is listed with its best section below it.
        if right := any(re.search(QUERIES[query], path) for path in paths[:2]):
            break
        page.wait_for_timeout(100)
    assert right, paths
    assert all(path.startswith("en/") == english for path in paths), paths


def test_search_results_show_no_notebook_prompts(site: Path) -> None:
    for index in ("search/search_index.json", "en/search/search_index.json"):
        text = (site / index).read_text(encoding="utf-8")
        assert json.loads(text)["docs"]
        assert "In [" not in text and "<svg" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scripts", [True, False])
def test_colours_follow_the_system(open_page: Open, scheme: str, scripts: bool) -> None:
    page = open_page("index.html", color_scheme=scheme, java_script_enabled=scripts)
    assert _lightness(page) == scheme


def _lightness(page: Page) -> str:
    colour = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return "dark" if red + green + blue < 384 else "light"


def test_the_switch_changes_colours_and_is_remembered(open_page: Open) -> None:
    page = open_page("index.html", color_scheme="light")
    page.get_by_title("切换到深色").click()
    assert _lightness(page) == "dark"
    page.reload()
    assert _lightness(page) == "dark"


def _scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_page_reads_whole_on_a_phone_without_scripts(open_page: Open, path: str) -> None:
    page = open_page(path, width=375, java_script_enabled=False)
    assert not _scrolls_sideways(page)
    expect(page.locator("h1")).to_be_visible()
    sizes = page.locator("math").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(b => Math.min(b.width, b.height))"
    )
    assert all(size > 1 for size in sizes if size)
    # The font has one root; what stands under it has to be no taller, and is followed closely.
    roots = page.locator("msqrt").evaluate_all(
        """all => all.map(e => {
            const size = parseFloat(getComputedStyle(e).fontSize);
            const whole = e.getBoundingClientRect();
            const last = e.lastElementChild.getBoundingClientRect();
            return [e.textContent, whole.height / size, (whole.right - last.right) / size];
        })"""
    )
    assert [root for root in roots if root[1] > 1.35 or root[2] > 0.1] == []
    # What is folded opens without scripts too.
    for summary in page.locator("article details > summary").all()[:3]:
        summary.click()
        expect(summary.locator("xpath=following-sibling::*[1]")).to_be_visible()


def test_page_fits_a_phone_and_axe_finds_nothing(open_page: Open, path: str) -> None:
    page = open_page(path, width=375)
    assert not _scrolls_sideways(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    # To a screen reader, coloured code is text and a drawing is its label: axe need not walk them.
    page.evaluate(
        """document.querySelectorAll("pre code").forEach(e => { e.textContent = e.textContent });
        document.querySelectorAll("svg[aria-label]").forEach(e => e.replaceChildren())"""
    )
    assert _violations(page, {"rules": {"color-contrast": {"enabled": False}}}) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["index", "questions/scores", "labs/scaling", "mistakes/masks"])
def test_contrast_is_enough(open_page: Open, kind: str, scheme: str) -> None:
    """On one page of each kind: the colours are the same on all of them, and axe is slow here."""
    for path in (f"{kind}.html", f"en/{kind}.html"):
        page = open_page(path, color_scheme=scheme)
        assert _violations(page, {"runOnly": ["color-contrast"]}) == []


def _violations(page: Page, options: dict[str, object]) -> list[str]:
    # All that passed would be sent here too, node by node, and take longer than the check.
    results = Axe().run(page, options=options | {"resultTypes": ["violations"]})
    return [
        f"{v['id']}: {node['html'][:160]}"
        for v in results.response["violations"]
        for node in v["nodes"]
    ]


def test_header_takes_over_the_title_once_it_is_out_of_sight(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", width=375)
    page.wait_for_load_state("networkidle")
    taken = page.locator(".md-header__title--active")
    expect(taken).to_have_count(0)
    page.evaluate("scrollTo(0, 1500)")
    expect(taken).to_have_count(1)


@pytest.mark.parametrize("path", ["en/reference/variants.html", "chapters/transformer.html"])
def test_listing_is_whole_on_a_wide_page(open_page: Open, path: str) -> None:
    page = open_page(path, java_script_enabled=False)
    listings = page.locator(".highlight:has(.filename) pre code")
    assert listings.count() > 2
    assert not any(listings.evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)"))


def test_brackets_stretch_and_scripts_shrink(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", java_script_enabled=False)
    formula = page.locator("div.formula math").first
    bracket = formula.locator("mo[fence=true]").first.bounding_box()
    letter = formula.locator("mi", has_text="V").last.bounding_box()
    small = formula.locator("msub > mi:nth-child(2)").first.bounding_box()
    assert bracket and letter and small
    assert bracket["height"] > 1.8 * letter["height"]
    assert small["height"] < letter["height"]


def test_no_page_loads_from_a_foreign_address(site: Path, address: str) -> None:
    loading = re.compile(r'(?:\bsrc=|<link [^>]*?\bhref=)"([^"]+)"')
    for path in [*PAGES, "404.html", "en/404.html"]:
        loads = loading.findall((site / path).read_text(encoding="utf-8"))
        assert loads and all("//" not in a or a.startswith(address) for a in loads), path


def test_keyboard_reaches_what_a_mouse_does(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html")
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(e => e.className + ' ' + (e.getAttribute('href') || ''))(document.activeElement)"
            )
        )
    text = "\n".join(reached)
    for part in (
        "md-skip",
        "language",
        "md-search__input",
        "#by-hand",
        "formula",
        "md-code__button",
    ):
        assert part in text, f"Tab never reaches {part}"


def test_skip_link_leads_to_the_text(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**#t2-self-attention")


def test_every_link_and_anchor_leads_somewhere(site: Path, address: str) -> None:
    dead = []
    for path in [*PAGES, "404.html", "en/404.html"]:
        for href in re.findall(r'\bhref="([^"]*)"', (site / path).read_text(encoding="utf-8")):
            target, anchor = urldefrag(urljoin(address + path, html.unescape(href)))
            if not target.startswith(address):
                continue
            file = site / (target.removeprefix(address) or "index.html")
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and anchor not in _anchors(file)):
                dead.append(f"{path}: {href}")
    assert dead == []


@functools.cache
def _anchors(file: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("path", "words"), [("nowhere.html", "没有找到这一页"), ("en/no/where.html", "does not exist")]
)
def test_missing_page_speaks_the_readers_language(open_page: Open, path: str, words: str) -> None:
    page = open_page(path, expect=404)
    expect(page.locator("h1")).to_contain_text(words)
    expect(page.locator("html")).to_have_attribute("lang", "en" if "en/" in path else "zh")


def test_missing_page_speaks_both_without_scripts(open_page: Open) -> None:
    page = open_page("en/no/where.html", expect=404, java_script_enabled=False)
    expect(page.locator("article")).to_contain_text("没有找到这一页")
    expect(page.locator("article")).to_contain_text("does not exist")


def test_pages_have_edit_next_and_contents(open_page: Open) -> None:
    page = open_page("en/questions/scores.html")
    edit = page.locator("a[rel=edit]").get_attribute("href")
    assert edit and edit.endswith("/edit/main/docs/en/questions/scores.md")
    assert page.locator("a.md-footer__link--prev").count() == 1
    assert page.locator("a.md-footer__link--next").count() == 1
    assert page.locator(".md-sidebar--secondary a[href='#q13-transpose']").count() == 1


def test_code_can_be_copied(open_page: Open) -> None:
    page = open_page("en/index.html", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".md-code__button").first.click()
    assert "from headwise.attention import attention" in page.evaluate(
        "navigator.clipboard.readText()"
    )


def test_print_leaves_only_the_text(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator(".md-header")).to_be_hidden()
    expect(page.locator(".md-sidebar--primary")).to_be_hidden()
    expect(page.locator("details pre").first).to_be_visible()
    assert _lightness(page) == "light"


@pytest.mark.parametrize("path", [path for path in PAGES if "labs/" in path])
def test_lab_weighs_at_most_twice_the_same_text_without_figures(site: Path, path: str) -> None:
    page = (site / path).read_text(encoding="utf-8")
    prose = re.sub(r"<figure.*?</figure>", "", page, flags=re.S)
    assert len(prose) < len(page) <= 2 * len(prose)


@pytest.mark.parametrize("path", [path for path in PAGES if "labs/" in path])
def test_lab_has_words_for_its_figures_anchors_and_a_download(open_page: Open, path: str) -> None:
    page = open_page(path)
    figures = page.locator("figure.plot svg")
    assert figures.count() > 0
    for figure in figures.all():
        assert len(figure.get_attribute("aria-label") or "") > 20
        assert figure.get_attribute("lang") == page.locator("html").get_attribute("lang")
    entry = page.locator(".md-sidebar--secondary a.md-nav__link[href^='#']").first
    anchor = entry.get_attribute("href") or ""
    entry.click()
    page.wait_for_url(f"**{anchor}")
    with page.expect_download() as download:
        page.locator("a.download[download]").click()
    notebook = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert any("%pip install" in "".join(cell["source"]) for cell in notebook["cells"])
    colab = page.locator("a.download:not([download])").get_attribute("href") or ""
    assert colab == (
        "https://colab.research.google.com/github/headwise/headwise/blob/gh-pages/"
        + path.replace(".html", ".ipynb")
    )
