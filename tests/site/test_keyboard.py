"""What a reader does from the keyboard."""

from playwright.sync_api import expect
from reader import Open


def test_keyboard_reaches_what_a_mouse_does(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html")
    page.bring_to_front()  # the keyboard is that of the page in front
    reached = set()
    for _ in range(120):
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
    page.bring_to_front()  # the keyboard is that of the page in front
    page.keyboard.press("Tab")
    expect(page.locator("a.md-skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**#t2-self-attention")
