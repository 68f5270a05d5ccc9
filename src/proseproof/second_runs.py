"""Blocks that run twice: from another random state, and on a made-up GPU if they are for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proseproof import accelerator, language_pairs, outputs, shape_comments
from proseproof.claims import Judge
from proseproof.execution import SEED, Run, execute
from proseproof.messages import Finding, diff
from proseproof.page import Block, Span

if TYPE_CHECKING:
    from proseproof.prover import PageProof


def depends_on_seed(proof: PageProof, run: Run, spans: list[Span]) -> list[Finding]:
    """A reader starts from another random state: nothing shown may depend on it."""
    block = run.block
    judged = [span for span in spans if span.mark != "text"]
    comments = shape_comments.values_of(block.code)
    if not judged and not comments and not proof.printed(run):
        return []
    # The other language runs the same program and says the same of it: once is enough.
    shown = block.output.text if block.output else ""
    asked = (
        "seed",
        language_pairs.tree_of(block.code),
        shown,
        *comments,
        *(span.said for span in judged),
    )
    if asked in proof.project.done:
        return []
    again = execute(proof.page, block, seed=SEED + 1, shapes_wanted=bool(judged))
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
    if not detail:
        proof.project.done.add(asked)
        return []
    known = {"torch": "torch.manual_seed(0)", "numpy": "np.random.seed(0)"}
    seeds = [seed for name, seed in known.items() if name in block.code] or ["random.seed(0)"]
    return [Finding(proof.page.path, block.line, message, detail, f"add {seeds[0]}")]


def rehearsed(proof: PageProof, block: Block) -> list[Finding]:
    """A GPU block on a made-up accelerator, and on CUDA where there is one."""
    found = []
    rehearsal = accelerator.Rehearsal()
    run = execute(proof.page, block, accelerator=accelerator.name(), within=rehearsal.stage())
    where = "on a made-up accelerator"
    remedy = "create every tensor on the device, or move it there"
    left = ", ".join(map(str, rehearsal.left))
    left = f" (left on the CPU: what line {left} made)" if left else ""
    if run.error is not None and block.raises is None:
        message = f"{where}: {run.last_line.splitlines()[0]}{left}"
        found.append(Finding(proof.page.path, run.error_line(), message, run.traceback(), remedy))
    elif not rehearsal.used:
        message = f"{where}, the block puts nothing on the device{left}"
        found.append(Finding(proof.page.path, block.line, message, remedy=remedy))
    if accelerator.has_cuda():
        run = execute(proof.page, block)
        found += [one for one in proof.errors(run)]
    return found
