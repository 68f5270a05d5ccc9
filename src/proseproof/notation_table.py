"""The page of notation, held to the file of notation: every symbol is in a table of that page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proseproof.formulas import Said, is_in_words, said
from proseproof.latex_nodes import Node, spelt
from proseproof.messages import Finding
from proseproof.notation import Meaning, Notation
from proseproof.page import Page

if TYPE_CHECKING:
    from proseproof.project import Project


def check(project: Project) -> list[Finding]:
    """Symbols that the table leaves out, in each language, or gives another name in code."""
    notation = project.notation
    if notation is None or not notation.table:
        return []
    folders = project.settings.languages.values()
    paths = [f"{folder}/{notation.table}" for folder in folders] or [notation.table]
    found = []
    for path in paths:
        if not project.exists(path):
            message = f"there is no page {path}, which is to list the notation"
            found.append(Finding(notation.file, 1, message, remedy="write it, or name another"))
        else:
            found += _page(project, notation, project.page(path))
    return found


def _page(project: Project, notation: Notation, page: Page) -> list[Finding]:
    lines = page.text.split("\n")
    rows: dict[int, list[Said]] = {}
    for one in said(project, page):
        if lines[one.formula.line - 1].lstrip("# ").startswith("|"):
            rows.setdefault(one.formula.line, []).append(one)
    base = notation.of("")
    listed = {tree for row in rows.values() for one in row for tree in one.trees}
    listed |= {_letter(base, tree) for tree in listed}
    found = []
    for meaning in notation.all():
        for node in _to_list(meaning):
            if not listed & {node, _letter(meaning, node)}:
                listed.add(node)  # once is enough
                message = f"${spelt(node)}$ is in {notation.file}, and in no table of this page"
                remedy = "add a row that says what it stands for"
                found.append(Finding(page.path, 1, message, remedy=remedy))
    for node, name in base.names.items():
        places = [line for line, row in rows.items() if any(node in one.trees for one in row)]
        spans = {span.text for span in page.spans if span.line in places}
        if places and name not in spans:
            message = f"${spelt(node)}$ is `{name}` in code, says {notation.file}; no row does"
            remedy = f"put `{name}` into its row, or correct [names]"
            found.append(Finding(page.path, places[0], message, remedy=remedy))
    return found


def _to_list(meaning: Meaning) -> list[Node]:
    """What a reader may want to look up: all but names that are words."""
    indices = [Node("name", name) for name in meaning.own.get("indices", {})]
    own = [node for table in (meaning.symbols, meaning.functions) for node in table]
    return [node for node in [*own, *indices] if not is_in_words(node)]


def _letter(meaning: Meaning, node: Node) -> Node:
    """The letter to which an index, a prime or a number of a head is put: w for `w_j`."""
    while node.kind in ("sub", "power", "prime"):
        if node.kind == "prime" or meaning.has_index(node):
            node = node.parts[0]
        else:
            break
    return node
