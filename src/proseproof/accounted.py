"""Accounted for: every fence, listing, heading, link and figure of a page is what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from proseproof import shape_comments, shape_tables
from proseproof.commands import complaint
from proseproof.listing_words import shown
from proseproof.listings import ListingError
from proseproof.messages import Finding
from proseproof.page import Block, Page
from proseproof.report import FenceEntry, ListingEntry

if TYPE_CHECKING:
    from proseproof.prover import PageProof


def check(proof: PageProof) -> list[Finding]:
    """What is wrong with how the page is written."""
    page = proof.page
    found = [*page.findings, *shape_tables.unchecked(page)]
    for listing in page.listings:
        verdict = "holds"
        try:
            shown(proof.settings, page.path, listing.spec)
        except ListingError as error:
            verdict = "fails"
            said = (str(error), error.detail, error.remedy)
            found.append(Finding(page.path, listing.line, *said))
        proof.entry.listings.append(ListingEntry(listing.line, listing.spec, verdict))
    for plain in page.plains:
        verdict = "not code"
        if plain.language == "console":
            for number, line in enumerate(plain.text.splitlines(), plain.line + 1):
                words = line.partition(" #")[0].strip()
                reason = complaint(proof.settings.root, words) if words else ""
                if reason:
                    verdict = "fails"
                    message, remedy = f"{words}: {reason}", "write a command that works here"
                    found.append(Finding(page.path, number, message, remedy=remedy))
        proof.entry.plains.append(FenceEntry(plain.line, plain.language, verdict))
    for block in page.blocks:
        found += _comments(page, block)
    if proof.settings.language(page.path) is not None:
        for heading in page.headings:
            if not heading.anchor:
                remedy = f"{'#' * heading.level} {heading.title} {{#anchor}}"
                message = "a heading without an anchor of its own"
                found.append(Finding(page.path, heading.line, message, remedy=remedy))
    found += _links(proof)
    for span in page.spans:
        unknown = span.marks & {"wrong", "text"}
        if len(unknown) > 1:
            found.append(Finding(page.path, span.line, f"`{span.text}` is both wrong and text"))
    return sorted(found)


def _comments(page: Page, block: Block) -> list[Finding]:
    if block.language != "python":
        return []
    try:
        unchecked = shape_comments.comments_of(block.code).unchecked
    except Exception:  # code that cannot be read is reported where it is run
        return []
    return [nobody_checks(page.path, block.first + line - 1, *said) for line, *said in unchecked]


def nobody_checks(path: str, line: int, kind: str, text: str) -> Finding:
    """A comment that a reader takes for an asserted one."""
    form = "# (batch, seq_len)" if kind == "shape" else "# 7.0 or # tensor([1., 2.])"
    remedy = f"let the {kind} be the whole comment at the end of its line: {form}"
    return Finding(path, line, f"looks like a {kind}, and nobody checks it: {text}", remedy=remedy)


def _links(proof: PageProof) -> list[Finding]:
    found = []
    root, folder = proof.settings.root, (proof.settings.root / proof.page.path).parent
    for link in proof.page.links:
        target, _, anchor = link.target.partition("#")
        if link.figure and not link.text.strip():
            message = f"the figure {link.target} has no alt text"
            found.append(Finding(proof.page.path, link.line, message, remedy="![what it shows]"))
        if re.match(r"[a-z]+:|//", link.target):
            continue
        file = (folder / unquote(target)).resolve() if target else root / proof.page.path
        if target.startswith("/"):
            file = root / "docs" / target.lstrip("/")
        if not file.exists():
            message = f"the link {link.target!r} leads to no file"
            found.append(Finding(proof.page.path, link.line, message))
        elif anchor and file.suffix in (".md", ".py") and file.is_relative_to(root.resolve()):
            path = file.relative_to(root.resolve()).as_posix()
            there = proof.project.page(path)
            anchors = {heading.anchor for heading in there.headings}
            if anchor not in anchors:
                message = f"{path} has no anchor #{anchor}"
                found.append(Finding(proof.page.path, link.line, message))
    return found
