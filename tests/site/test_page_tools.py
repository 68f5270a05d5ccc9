"""What stands around the text of a page: edit, contents, next page, copy."""

from reader import Open


def test_pages_have_edit_next_and_contents(open_page: Open) -> None:
    page = open_page("en/questions/scores.html")
    edit = page.locator("a[rel=edit]").get_attribute("href")
    assert edit and edit.endswith("/edit/main/docs/en/questions/scores.md")
    assert page.locator("a.md-footer__link--prev").count() == 1
    assert page.locator("a.md-footer__link--next").count() == 1
    assert page.locator(".md-sidebar--secondary a[href='#q13-transpose']").count() == 1


def test_code_can_be_copied(open_page: Open) -> None:
    page = open_page("en/index.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".md-code__button").first.click()
    assert "from headwise import MultiHeadAttention" in page.evaluate(
        "navigator.clipboard.readText()"
    )
