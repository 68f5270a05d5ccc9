"""Which ids the pages treat, and which they have to."""

from __future__ import annotations

import re

from proseproof.messages import Finding
from proseproof.page import Page
from proseproof.settings import Settings


def _anchored(page: Page, name: str) -> bool:
    pattern = re.compile(rf"{re.escape(name.lower())}(-[\w-]+)?")
    return any(pattern.fullmatch(heading.anchor) for heading in page.headings)


def check_page(settings: Settings, page: Page) -> list[Finding]:
    """Ids of the front matter without a heading, and headings of ids not in the front matter."""
    declared = page.front.get("ids", [])
    if not isinstance(declared, list) or not all(isinstance(name, str) for name in declared):
        return [Finding(page.path, 1, "`ids` is not a list of ids", remedy="ids: [T2, Q13]")]
    found = []
    for name in declared:
        if name not in settings.required_ids:
            found.append(
                Finding(page.path, 1, f"nobody asks for the id {name}", remedy="remove it")
            )
        if not _anchored(page, name):
            found.append(
                Finding(
                    page.path,
                    1,
                    f"{name} has no heading",
                    remedy=f"give its heading the anchor {{#{name.lower()}}}, "
                    f"alone or followed by -words",
                )
            )
    for heading in page.headings:
        name = heading.anchor.partition("-")[0].upper()
        if name in settings.required_ids and name not in declared:
            found.append(
                Finding(
                    page.path,
                    heading.line,
                    f"#{heading.anchor} treats {name}, undeclared",
                    remedy=f"add {name} to `ids` in the front matter",
                )
            )
    return found


def check_project(settings: Settings, pages: list[Page]) -> list[Finding]:
    """Required ids that no page of some language has; ids still to come that are there."""
    found = []

    def about(message: str, remedy: str) -> Finding:
        return Finding(settings.ids, 1, message, remedy=remedy)

    required, to_come = settings.required_ids, set(settings.to_come_ids)
    for name in sorted(to_come - set(required)):
        found.append(about(f"{name} is to come, but not required", "remove it from to_come"))
    for language, folder in settings.languages.items():
        present = {
            name
            for page in pages
            if page.path.startswith(f"{folder}/") and isinstance(page.front.get("ids", []), list)
            for name in page.front.get("ids", [])
        }
        for name in required:
            if name in to_come and name in present:
                found.append(about(f"{name} is there ({language})", "remove it from to_come"))
            elif name not in to_come and name not in present:
                found.append(
                    about(
                        f"no page in {language} treats {name}",
                        "write it, or put it into to_come",
                    )
                )
    return found
