"""All that the tests ask of every page, asked in one visit with scripts and one without.

Opening a page takes longer than any question about it. So each is opened once by each kind of
reader, everything is measured there, and the tests of each rule only look at the measurements.
"""

from collections.abc import Callable
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page
from reader import Reader, Scheme

PHONE, WIDE = 375, 1440
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
Facts = dict[str, Any]

# How far a page sticks out to the right of the screen.
OVERHANG = "document.documentElement.scrollWidth - innerWidth"

# Whether each title of the page is seen; how much is folded, drawn, and linked as a picture.
TITLES = """[...document.querySelectorAll("h1")].map(title =>
  title.checkVisibility({visibilityProperty: true}) && title.getBoundingClientRect().height > 0)"""
FOLDED = "document.querySelectorAll('article details > summary').length"
UNFOLD = "document.querySelectorAll('details').forEach(fold => { fold.open = true })"
DRAWN = "document.querySelectorAll('figure.drawn').length"
LINKED = "document.querySelectorAll('img[src*=figures]').length"

# Of each place of an instrument, what is seen there; and what was fetched for instruments.
PLACES = """[...document.querySelectorAll("[data-instrument]")].map(place =>
  [...place.children].filter(part => part.checkVisibility()).map(part => part.localName))"""
FETCHED = """performance.getEntriesByType("resource").map(one => one.name)
  .filter(name => name.includes("/instruments/"))"""

# The words of each drawing, in the page's own font: how large, what lies outside, what overlaps.
WORDS = """[...document.querySelectorAll("figure.drawn svg")].map(svg => {
  const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")];
  const boxes = texts.map(text => text.getBoundingClientRect());
  const outside = boxes.map((b, i) => [b, texts[i].textContent]).filter(([b]) =>
    b.left < frame.left - 1 || b.right > frame.right + 1 ||
    b.top < frame.top - 1 || b.bottom > frame.bottom + 1).map(([, text]) => text);
  const overlap = [];
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 0 && high > 4) overlap.push(`${texts[i].textContent} | ${texts[j].textContent}`);
  }));
  const sizes = texts.map(text => parseFloat(getComputedStyle(text).fontSize) * scale);
  return {width: frame.width, smallest: Math.min(...sizes), outside, overlap};
})"""

LAYOUT = f"{{overhang: {OVERHANG}, words: {WORDS}}}"

# What a screen reader says of each drawing, and the caption below it.
SPOKEN = """[...document.querySelectorAll("figure.drawn")].map(figure => {
  const drawings = [...figure.querySelectorAll("[role=img]")];
  return {
    labels: drawings.map(svg => svg.getAttribute("aria-label")),
    languages: drawings.map(svg => svg.getAttribute("lang")),
    caption: figure.querySelector("figcaption")?.innerText ?? "",
  };
})"""

# The smaller side of each formula; and each root with its height and the gap behind it, in ems.
FORMULAS = """{
  sides: [...document.querySelectorAll("math")].map(e => e.getBoundingClientRect())
    .map(box => Math.min(box.width, box.height)),
  roots: [...document.querySelectorAll("msqrt")].map(e => {
    const size = parseFloat(getComputedStyle(e).fontSize);
    const whole = e.getBoundingClientRect();
    const last = e.lastElementChild.getBoundingClientRect();
    return [e.textContent, whole.height / size, (whole.right - last.right) / size];
  }),
}"""

# The colours of the text and of the words in drawings.
INKS = """({
  text: getComputedStyle(document.querySelector("article")).color,
  drawings: [...new Set([...document.querySelectorAll("figure.drawn text")]
    .map(text => getComputedStyle(text).fill))],
})"""

# To a screen reader, coloured code is text and a drawing is its label: axe need not walk them.
LIGHTEN = """
document.querySelectorAll("pre code").forEach(e => { e.textContent = e.textContent });
document.querySelectorAll("svg[aria-label]").forEach(e => e.replaceChildren())
"""

# Words of code that are coloured alike need one look: all but the first of each colour go.
SAMPLE = """
const seen = new Set();
const again = [...document.querySelectorAll("pre code span:not(:has(*))")].filter(span => {
  const {color, backgroundColor, fontSize, fontWeight} = getComputedStyle(span);
  const look = `${[color, backgroundColor, fontSize, fontWeight, span.closest("pre").className]}`;
  return seen.has(look) || !seen.add(look);
});
again.forEach(span => span.replaceWith(span.textContent));
"""

# Links that only their colour tells from the text around them.
UNMARKED = """[...document.querySelectorAll("article a[href]")]
  .filter(link => !link.matches(".headerlink, .md-content__button"))
  .filter(link => ![link, ...link.querySelectorAll("strong")]  // of a card, its title
    .some(part => getComputedStyle(part).textDecorationLine.includes("underline")))
  .map(link => link.outerHTML.slice(0, 160))"""

# Rules about colours, which axe takes long to look at.
COLOURS = ["color-contrast", "link-in-text-block"]

# Only what is wrong is sent here: all that passed, node by node, takes longer than the check.
AXE = """options => axe.run({resultTypes: ["violations"], ...options}).then(({violations}) =>
  violations.flatMap(({id, nodes}) => nodes.map(node => `${id}: ${node.html.slice(0, 160)}`)))
"""


class Visitor:
    """Two readers, with scripts and without, who measure a page at the same time."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.plain = Reader(browser, address, scripts=False)
        self.scripted = Reader(browser, address)
        self.scripted.page.add_init_script(AXE_SCRIPT)

    def contrast(self, path: str, scheme: Scheme) -> Facts:
        """What axe has against the colours of a page."""
        page = self.scripted.open(path, scheme=scheme)
        page.evaluate(f"() => {{ {UNFOLD}; {SAMPLE} }}")
        found = page.evaluate(AXE, {"runOnly": COLOURS})
        return {"axe": found, "trouble": self.scripted.leave()}

    def visit(self, path: str) -> Facts:
        """The measurements of a page; while axe looks at it, it is read without scripts."""
        self.plain.start(path, width=PHONE)
        page = self.scripted.open(path, width=PHONE)
        scripted = page.evaluate(f"({{overhang: {OVERHANG}, unmarked: {UNMARKED}}})")
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.evaluate(LIGHTEN)
        options = {"rules": {rule: {"enabled": False} for rule in COLOURS}}
        page.evaluate(f"options => {{ found = ({AXE})(options) }}", options)  # and does not wait
        plain = self._read_plainly()
        scripted["axe"] = page.evaluate("found")
        scripted |= page.evaluate(f"({{places: {PLACES}, fetched: {FETCHED}}})")
        return {
            "scripted": scripted | {"trouble": self.scripted.leave()},
            "plain": plain | {"trouble": self.plain.leave()},
        }

    def _read_plainly(self) -> Facts:
        page = self.plain.page
        page.wait_for_load_state()
        facts: Facts = page.evaluate(f"({{titles: {TITLES}, folded: {FOLDED}}})")
        # Playwright's locators are slow to begin with, and most pages need none.
        facts["unfolded"] = self._unfolded(page) if facts["folded"] else []
        page.evaluate(UNFOLD)  # what is folded has to fit, too
        facts |= page.evaluate(
            f"({{drawn: {DRAWN}, linked: {LINKED}, formulas: {FORMULAS}, phone: {LAYOUT},"
            f" places: {PLACES}}})"
        )
        return facts | (self._figures(page) if facts["drawn"] else {})

    def _figures(self, page: Page) -> Facts:
        page.set_viewport_size({"width": WIDE, "height": 900})
        facts: Facts = page.evaluate(f"({{spoken: {SPOKEN}, wide: {LAYOUT}}})")
        facts["language"] = page.locator("html").get_attribute("lang")
        facts["heard"] = page.locator("figure.drawn").get_by_role("img").count()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            facts[scheme] = page.evaluate(INKS)
        return facts

    def _unfolded(self, page: Page) -> list[bool]:
        """Whether what is folded shows itself after a click, for the first three."""
        seen = []
        for summary in page.locator("article details > summary").all()[:3]:
            summary.click()
            seen.append(summary.locator("xpath=following-sibling::*[1]").is_visible())
        return seen


Visit = Callable[[str, str, Callable[[Visitor], Facts]], Facts]  # path, name, what to ask
