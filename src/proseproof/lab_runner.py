"""Labs: their cells run in one namespace, for both languages, and are held to their record."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proseproof import interpreter_state, module_leaks, records, second_runs
from proseproof.accelerator import OnCpu
from proseproof.execution import SEED, Run, empty_scratch, execute, load_what_has_global_state
from proseproof.lab_translation import Translation, same_lab
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
    proof.twin = _twin(proof)
    findings = run(proof)
    if not findings:
        for one in (proof, proof.twin):
            if one is not None and not one.entry.findings:
                keeper.keep(one)
    return findings


def translated(proof: PageProof) -> PageProof | None:
    """The other language's lab, with what its cells show, if it runs the same program."""
    if proof.twin is None and (twin := _twin(proof)) is not None:
        run_or_recall(twin)
        return twin
    return proof.twin


def _twin(proof: PageProof) -> PageProof | None:
    """The other language's lab when that runs the same program, whatever its words."""
    other = proof.project.other(proof.page.path)
    codes = [[block.code for block in one.blocks] for one in (proof.page, other) if one]
    if other is None or not same_lab(*codes):
        return None
    return type(proof)(proof.project, other.path)


def run(proof: PageProof) -> list[Finding]:
    """Run all cells in one namespace, each with the sentences below it, in both languages.

    The findings returned are this page's own; its twin gets its own on its entry.
    """
    found: list[Finding] = []
    shared: dict[str, Any] = {}
    proof.outputs = []
    translation = Translation(proof.twin) if proof.twin else None
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
            if translation:
                translation.prepare(shared)
            with draws.watched():
                done = execute(proof.page, block, shared=shared)
            proof.outputs.append(done.outputs)
            broken = proof.errors(done) + proof.not_imported(block, "\n".join(codes[:index]))
            if draws.unseeded:
                message = "the cell draws random numbers from a generator that nobody has seeded"
                remedy = "add torch.manual_seed(0), or the like, above it"
                broken.append(Finding(proof.page.path, block.line, message, remedy=remedy))
            if translation and not broken:
                broken += _followed(translation, index, done, shared)
            found += _told(proof, index, done, broken)
            if broken:
                return found + broken
    if on_cpu is not None:
        found += second_runs.rehearsed_lab(proof, on_cpu)
    return found


def _told(page: PageProof, index: int, done: Run, broken: list[Finding]) -> list[Finding]:
    """Note that a cell ran; what is wrong with what is said of it."""
    cell, spans = page.page.blocks[index], page.spans_for(index)
    page.note_run(done)
    page.entry.blocks.append(BlockEntry(cell.line, "python", "fails" if broken else "holds"))
    if broken:
        page.unjudged(cell, spans)
        return []
    return page.sentences(done, spans)


def _followed(
    translation: Translation, index: int, done: Run, shared: dict[str, Any]
) -> list[Finding]:
    """Take the cell over into the other language; what keeps it from being taken over."""
    twin = translation.page
    own, broken = translation.follow(index, done, shared)
    run = own or replace(
        done, page=twin.page, block=twin.page.blocks[index], namespace=translation.values
    )
    twin.outputs.append(run.outputs)
    twin.note(_told(twin, index, run, broken))
    return broken


def compared(proof: PageProof) -> list[Finding]:
    """What the cells show, against the record.

    A lab with `varies: true` in its front matter shows what depends on the machine: it is held to
    the kinds of its outputs alone.
    """
    page = proof.page
    file = proof.record_file
    name = file.relative_to(proof.settings.root).as_posix()
    try:
        record = records.read(file, proof.language)
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
