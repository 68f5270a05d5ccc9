"""Labs: their cells run in one namespace, once for both languages, and are held to their record."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proseproof import interpreter_state, module_leaks, records, second_runs
from proseproof.accelerator import OnCpu
from proseproof.execution import SEED, empty_scratch, execute, load_what_has_global_state
from proseproof.language_pairs import tree_of
from proseproof.messages import Finding
from proseproof.report import BlockEntry

if TYPE_CHECKING:
    from proseproof.prover import PageProof

UPDATE = "python -m proseproof update"


def cells(proof: PageProof) -> list[Finding]:
    """The lab's findings; its cells run unless they are kept from an earlier run."""
    return run_or_recall(proof) or compared(proof)


def run_or_recall(proof: PageProof) -> list[Finding]:
    """What is wrong with the cells and the sentences about them; what they show is on the proof."""
    keeper = proof.project.keeper
    if keeper.recall(proof):
        return []
    both = _with_twin(proof)
    findings = run(proof, both)
    if not findings:
        for one in both:
            one.outputs = proof.outputs
            if not one.entry.findings:
                keeper.keep(one)
    return findings


def _with_twin(proof: PageProof) -> list[PageProof]:
    """The lab, and with it the other language's when that runs the same program."""
    other = proof.project.other(proof.page.path)
    programs = [[tree_of(block.code) for block in one.blocks] for one in (proof.page, other) if one]
    if other is None or programs[0] != programs[1]:
        return [proof]
    return [proof, type(proof)(proof.project, other.path)]


def run(proof: PageProof, pages: list[PageProof]) -> list[Finding]:
    """Run all cells in one namespace, each with the sentences below it, on every page.

    `pages` are this one and those that run the same program in another language. The findings
    returned are this page's own; the others get theirs on their entry.
    """
    found: list[Finding] = []
    shared: dict[str, Any] = {}
    proof.outputs = []
    load_what_has_global_state(proof.page)
    codes = [block.code for block in proof.page.blocks]
    on_cpu = OnCpu(proof.page.path) if any(block.gpu for block in proof.page.blocks) else None
    with (
        interpreter_state.restored(windows=True),
        module_leaks.unpatched("\n".join(codes)),
        on_cpu.stage() if on_cpu else contextlib.nullcontext(),
    ):
        os.chdir(empty_scratch())
        interpreter_state.seed(SEED)
        draws = interpreter_state.Draws()
        for index, block in enumerate(proof.page.blocks):
            said = [(page, page.spans_for(index)) for page in pages]
            with draws.watched():
                done = execute(proof.page, block, shared=shared)
            proof.outputs.append(done.outputs)
            broken = proof.errors(done) + proof.not_imported(block, "\n".join(codes[:index]))
            if draws.unseeded:
                message = "the cell draws random numbers from a generator that nobody has seeded"
                remedy = "add torch.manual_seed(0), or the like, above it"
                broken.append(Finding(proof.page.path, block.line, message, remedy=remedy))
            for page, spans in said:
                cell = page.page.blocks[index]
                page.note_run(done)
                verdict = "fails" if broken else "holds"
                page.entry.blocks.append(BlockEntry(cell.line, "python", verdict))
                if broken:
                    page.unjudged(cell, spans)
                    continue
                here = page.sentences(replace(done, page=page.page, block=cell), spans)
                if page is proof:
                    found += here
                else:
                    page.note(here)
            if broken:
                return found + broken
    if on_cpu is not None:
        found += second_runs.rehearsed_lab(proof, on_cpu)
    return found


def compared(proof: PageProof) -> list[Finding]:
    """What the cells show, against the record.

    A lab with `varies: true` in its front matter shows what depends on the machine: it is held to
    the kinds of its outputs alone.
    """
    page = proof.page
    file = proof.record_file
    name = file.relative_to(proof.settings.root).as_posix()
    try:
        record = records.read(file)
    except records.RecordError as error:
        return [Finding(page.path, 1, str(error), remedy=UPDATE)]
    if record is None:
        return [Finding(page.path, 1, f"there is no record {name}", remedy=UPDATE)]
    if not record.is_of([block.code for block in page.blocks]):
        return [Finding(page.path, 1, f"the record {name} is of other code", remedy=UPDATE)]
    found = []
    for block, cell, shown in zip(page.blocks, record.cells, proof.outputs, strict=True):
        if page.front.get("varies"):
            same = records.kinds(cell.outputs) == records.kinds(shown)
            detail = "" if same else "its outputs are of other kinds"
        else:
            detail = records.difference(cell.outputs, shown)
        if detail:
            message = f"the cell shows something else than {name} has"
            found.append(Finding(page.path, block.line, message, detail, UPDATE))
    return found
