"""Blocks that run twice: from another random state, and on a made-up GPU if they are for one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from proseproof import accelerator, interpreter_state, language_pairs, outputs, shape_comments
from proseproof.claims import Judge
from proseproof.device_code import chooses
from proseproof.execution import ROUNDS, SEED, Run, empty_scratch, execute
from proseproof.messages import Finding, diff
from proseproof.page import Block, Span

if TYPE_CHECKING:
    from proseproof.prover import PageProof

WHERE = "on a made-up accelerator"
MOVE = "create every tensor on the device, or move it there"


def depends_on_seed(proof: PageProof, run: Run, spans: list[Span]) -> list[Finding]:
    """A reader starts from another random state: nothing shown may depend on it."""
    block = run.block
    judged = [span for span in spans if span.mark != "text"]
    comments = shape_comments.values_of(block.code)
    index = next(n for n, one in enumerate(proof.page.blocks) if one is block)
    numbers = proof.numbers.bound_beside(index, proof.home_of)
    if not judged and not comments and not numbers and not proof.printed(run):
        return []
    # The other language runs the same program and says the same of it: once is enough.
    shown = block.output.text if block.output else ""
    asked = (
        "seed",
        language_pairs.tree_of(block.code),
        shown,
        *comments,
        *(span.said for span in judged),
        *((claim.text, entry) for claim, entry in numbers),
    )
    if asked in proof.project.done:
        return []
    again = execute(proof.page, block, seed=SEED + 1)
    message = "the block draws random numbers without a seed, and what is shown depends on them"
    detail = ""
    if again.last_line != run.last_line:
        detail = diff(run.last_line, again.last_line, "one run", "another run")
    elif again.watch.failed:
        detail = str(again.watch.failed[0].error)
    elif block.output is not None and not outputs.same(proof.printed(run), proof.printed(again)):
        detail = diff(proof.printed(run), proof.printed(again), "one run", "another run")
    else:
        judge = Judge(proof.settings, proof.page, again, proof.code)
        before = Judge(proof.settings, proof.page, run, proof.code)
        wrong = [
            one
            for one in map(judge.judge, judged)
            if not one.holds and before.judge(one.span).holds
        ]
        detail = "\n".join(
            f"line {one.span.line}: `{one.span.text}`: {one.reason}" for one in wrong
        )
        if not detail and numbers and not proof.numbers.evaluated(index, proof.home_of, run):
            false = proof.numbers.evaluated(index, proof.home_of, again)
            detail = "\n".join(f"line {one.line}: {one.message}" for one in false)
    if not detail:
        proof.project.done.add(asked)
        return []
    known = {"torch": "torch.manual_seed(0)", "numpy": "np.random.seed(0)"}
    seeds = [seed for name, seed in known.items() if name in block.code] or ["random.seed(0)"]
    return [Finding(proof.page.path, block.line, message, detail, f"add {seeds[0]}")]


def rehearsed(proof: PageProof, block: Block, cpu: Run | None = None) -> list[Finding]:
    """A block for a GPU on a made-up accelerator, and on CUDA where there is one.

    With `cpu`, the run on the CPU, tensors are said to have the values that they had there.
    """
    found = []
    path = proof.page.path
    rehearsal = accelerator.Rehearsal(path, block.first, cpu.on_cpu if cpu else None)
    run = execute(proof.page, block, accelerator=accelerator.name(), within=rehearsal.stage())
    if block.raises is not None and cpu is not None:
        found += _other_error(cpu, run)
    elif run.error is not None and block.raises is None:
        found.append(_broken(run, rehearsal))
    elif not rehearsal.used and chooses(block.code):
        found.append(_unused(path, block.line, rehearsal))
    if accelerator.has_cuda():
        run = execute(proof.page, block)
        found += [one for one in proof.errors(run)]
    return found


def _other_error(cpu: Run, run: Run) -> list[Finding]:
    """A block that raises raises the same on the accelerator, in the same line."""
    error, meant = run.error, type(cpu.error)
    line = run.block.first - cpu.block.first + cpu.error_line()
    speak = ["device" in str(one) for one in (cpu.error, error)]  # of devices, as torch words it
    if isinstance(error, meant) and run.error_line() == line and speak[0] == speak[1]:
        return []
    came = run.last_line.splitlines()[0] if error is not None else "nothing"
    message = f"{WHERE}, the block raises {came}; on the CPU, {meant.__name__} in line {line}"
    detail = run.traceback() if error is not None else ""
    return [Finding(run.page.path, run.error_line(), message, detail)]


def rehearsed_lab(proof: PageProof, on_cpu: accelerator.OnCpu) -> list[Finding]:
    """The cells of a lab that is for a GPU too, on a made-up accelerator.

    Its loops are left when they have shown what they do; from there on, only what is said of
    devices counts, for what the rest of a loop would have made is missing.
    """
    page = proof.page
    rehearsal = accelerator.Rehearsal(page.path, on_cpu=on_cpu)
    shared: dict[str, Any] = {ROUNDS: rehearsal.bounded}
    with interpreter_state.restored(windows=True), rehearsal.stage():
        os.chdir(empty_scratch())
        interpreter_state.seed(SEED)
        for block in page.blocks:
            run = execute(page, block, shared=shared, accelerator=accelerator.name())
            if isinstance(run.error, accelerator.TooLong):
                message = f"{WHERE}, the lab {run.error}: what follows is not rehearsed"
                remedy = "write the loop into a cell, where it is cut short"
                return [Finding(page.path, run.error_line(), message, run.traceback(), remedy)]
            if run.error and (not rehearsal.cut or re.search("device|cpu", str(run.error))):
                return [_broken(run, rehearsal)]
    if not rehearsal.used and any(chooses(block.code) for block in page.blocks):
        return [_unused(page.path, page.blocks[0].line, rehearsal)]
    return []


def _broken(run: Run, rehearsal: accelerator.Rehearsal) -> Finding:
    message = f"{WHERE}: {run.last_line.splitlines()[0]}{_left(rehearsal)}"
    return Finding(run.page.path, run.error_line(), message, run.traceback(), MOVE)


def _unused(path: str, line: int, rehearsal: accelerator.Rehearsal) -> Finding:
    message = f"{WHERE}, nothing is put on the device{_left(rehearsal)}"
    return Finding(path, line, message, remedy=MOVE)


def _left(rehearsal: accelerator.Rehearsal) -> str:
    left = ", ".join(map(str, rehearsal.left))
    return f" (left on the CPU: what line {left} made)" if left else ""
