"""Rewriting what pages show as output, the records of labs and the figures; nothing else."""

from __future__ import annotations

from pathlib import Path

from proseproof import figures, lab_runner, outputs, records
from proseproof.execution import execute
from proseproof.messages import Finding
from proseproof.page import Block
from proseproof.project import Project
from proseproof.prover import PageProof

MARK = "<!--pytest-codeblocks:expected-output-->"


def _edit(block: Block, printed: str) -> tuple[int, int, list[str]] | None:
    """The lines to put in place of which, or None when the page shows the truth."""
    indent = (block.output or block).indent
    body = [f"{indent}{line}".rstrip() for line in outputs.lines_of(printed)]
    if block.output is not None:
        if outputs.same(block.output.text, printed):
            return None
        return block.output.first - 1, block.output.last, body
    if block.silent or not printed.strip():
        return None
    fence = [f"{block.indent}{MARK}", f"{block.indent}```text", *body, f"{block.indent}```"]
    return block.last + 1, block.last + 1, ["", *fence]


def record(proof: PageProof, file: Path | None = None) -> tuple[bool, list[Finding]]:
    """Record what the cells of a lab show, in both languages, unless the record has it already."""
    found = lab_runner.run_or_recall(proof)
    if found or (file is None and not lab_runner.compared(proof)):
        return False, found
    twin = lab_runner.translated(proof)
    others = {twin.language: _made(twin)} if twin else {}
    records.write(file or proof.record_file, _made(proof), others)
    return True, []


def _made(proof: PageProof) -> records.Record:
    codes = [block.code for block in proof.page.blocks]
    return records.of(codes, proof.outputs, bool(proof.page.front.get("varies")))


def update(project: Project, path: str) -> tuple[bool, list[Finding]]:
    """Whether the page's file was rewritten, and the blocks that could not be run."""
    proof = PageProof(project, path)
    page, root = proof.page, project.settings.root
    if page.findings:
        return False, page.findings
    if page.is_lab:
        return record(proof)
    lines = page.text.split("\n")
    found: list[Finding] = []
    for block in reversed(page.blocks):
        if block.language != "python" or block.skip is not None:
            continue
        run = execute(page, block)
        broken = proof.errors(run)
        if broken:
            found += broken
            continue
        edit = _edit(block, proof.printed(run))
        if edit is not None:
            begin, end, body = edit
            lines[begin:end] = body
        for line, expression, file in block.figures:
            try:
                svg = figures.draw(expression, file, run.namespace, project.settings.drawing)
            except figures.FigureError as error:
                message = f"the figure {expression}: {error}"
                found.append(Finding(path, line, message, remedy=error.remedy))
                continue
            target = root / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(svg, encoding="utf-8")
    text = "\n".join(lines)
    if text == page.text:
        return False, found
    (root / path).write_text(text, encoding="utf-8")
    del project.pages[path]
    return True, found
