"""Labs: their cells run once for both languages, and not at all while nothing they use changes."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from proseproof import shape_comments
from proseproof.language_pairs import tree_of
from proseproof.messages import Finding
from proseproof.prover import PageProof
from proseproof.report import BlockEntry, ClaimEntry

OUTPUTS = ".cache/labs"


def sources(code: str, root: Path) -> list[Path]:
    """The project's files that this code imports, all that those import, and their data."""
    found: set[Path] = set()
    todo = list(_imported(code, root))
    while todo:
        path = todo.pop()
        if path not in found:
            # numerals.py comes with numerals.pt.
            found |= {one for one in path.parent.glob(f"{path.stem}.*") if one.is_file()}
            todo += _imported(path.read_text(encoding="utf-8"), root)
    return sorted(found)


def _imported(code: str, root: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            for depth in range(1, len(parts) + 1):
                for stem in (root.joinpath("src", *parts[:depth]), root.joinpath(*parts[:depth])):
                    yield from filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py"))


def outputs_file(root: Path, cells: list[str]) -> Path:
    """Where the outputs of these cells are kept, by all that they depend on.

    That is the code without its comments, which are written in the page's language, what it
    imports from the project, and torch.
    """
    digest = hashlib.sha256(version("torch").encode())
    for cell in cells:
        digest.update(b"\0" + tree_of(cell).encode())
    for path in sources("\n".join(cells), root):
        digest.update(b"\0" + path.read_bytes())
    return root / OUTPUTS / f"{digest.hexdigest()[:32]}.json"


def _pair(proof: PageProof) -> list[PageProof]:
    """The lab, and with it the other language's when that runs the same program."""
    other = proof.project.other(proof.page.path)
    programs = [[tree_of(block.code) for block in one.blocks] for one in (proof.page, other) if one]
    if other is None or programs[0] != programs[1]:
        return [proof]
    return [proof, PageProof(proof.project, other.path)]


def _said(proof: PageProof) -> list[Any]:
    """What the page says of its cells, wherever its lines stand."""
    spans = [
        [(span.text, span.mark, span.subject, span.row) for span in proof.spans_for(index)]
        for index in range(len(proof.page.blocks))
    ]
    tables = [
        (table.expression, [span.text for _, spans in table.rows for span in spans])
        for table in proof.page.tables
    ]
    return [proof.page.path, spans, tables]


def _lines(proof: PageProof) -> list[int]:
    """The lines of all that is judged, in an order that stays when lines move."""
    page = proof.page
    lines = [block.line for block in page.blocks] + [span.line for span in page.spans]
    for table in page.tables:
        lines += [table.line, *(line for line, _ in table.rows)]
    return lines


def proved(proof: PageProof) -> list[Finding]:
    """The lab's findings; a lab that held before, and of which nothing changed, is not run."""
    settings = proof.settings
    cells = [block.code for block in proof.page.blocks]
    try:
        outputs = outputs_file(settings.root, cells)
    except SyntaxError:
        return proof.lab([proof])
    rules = "".join(
        Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        for name in ("claims", "execution", "figures", "shapes", "tables")
    )

    def verdict(one: PageProof) -> Path:
        parts = json.dumps([outputs.stem, rules, _said(one)], ensure_ascii=False)
        name = hashlib.sha256(parts.encode()).hexdigest()[:32]
        return (settings.root / settings.report).parent / "labs" / f"{name}.json"

    file = verdict(proof)
    if file.is_file():
        data = json.loads(file.read_text(encoding="utf-8"))
        now = dict(zip(data["lines"], _lines(proof), strict=True))
        for entries, kind in (("blocks", BlockEntry), ("claims", ClaimEntry)):
            for one in data[entries]:
                one["line"] = now.get(one["line"], one["line"])
                getattr(proof.entry, entries).append(kind(**one))
        proof.shown = data["shown"]
        for path, line in data["ran"]:
            if (path, line) in shape_comments.registry:
                shape_comments.registry[path, line].ran = True
        return []
    both = _pair(proof)
    before = [len(one.entry.findings) for one in both]
    findings = proof.lab(both)
    if not findings:
        outputs.parent.mkdir(parents=True, exist_ok=True)
        outputs.write_text(json.dumps(proof.outputs), encoding="utf-8")
    for one, number in zip(both, before, strict=True):
        if len(one.entry.findings) > number or findings:
            continue
        data = {
            "lines": _lines(one),
            "blocks": [asdict(entry) for entry in one.entry.blocks],
            "claims": [asdict(entry) for entry in one.entry.claims],
            "shown": proof.shown,
            "ran": [place for place, comment in shape_comments.registry.items() if comment.ran],
        }
        verdict(one).parent.mkdir(parents=True, exist_ok=True)
        verdict(one).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return findings
