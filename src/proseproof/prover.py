"""The proofs of a page, each giving its findings and filling the page's entry in the report."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tokenize
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_codeblocks.main import CodeBlock
from pytest_codeblocks.plugin import TestBlock

from proseproof import (
    accelerator,
    accounted,
    covered_ids,
    dependencies,
    figures,
    formula_proof,
    interpreter_state,
    lab_runner,
    language_pairs,
    module_leaks,
    number_proof,
    outputs,
    records,
    second_runs,
    shape_comments,
    shape_tables,
    translation_lock,
)
from proseproof.bindings import Entry
from proseproof.claims import Judge, Verdict
from proseproof.execution import (
    Endless,
    Run,
    TooMuchOutput,
    execute,
    is_window,
)
from proseproof.listings import ListingError, resolve
from proseproof.messages import Finding, diff
from proseproof.number_proof import NumberProof
from proseproof.numbers import Claim
from proseproof.page import Block, Span
from proseproof.project import Project
from proseproof.quoted_code import Code
from proseproof.report import (
    BlockEntry,
    ClaimEntry,
    FenceEntry,
    FindingEntry,
    PageEntry,
    digest,
)

UPDATE = "python -m proseproof update"


# What a slip of the pen raises: never meant unless it is named.
SLIPS = (NameError, AttributeError, SyntaxError, ImportError)


def _is_meant(error: BaseException, name: str) -> bool:
    """True when the error is of the named type, or of a kind of it."""
    kinds = type(error).__mro__[: 1 if isinstance(error, SLIPS) else None]
    return name in {kind.__name__ for kind in kinds}


class PageProof:
    """Proves one page, piece by piece."""

    def __init__(self, project: Project, path: str) -> None:
        self.project, self.settings = project, project.settings
        self.page = project.page(path)
        self.entry = PageEntry(path, digest(self.page.text), shown=self.page.shown)
        self.code = Code()
        for block in self.page.blocks:
            self.code.add(block.code)
        for listing in self.page.listings:
            with contextlib.suppress(ListingError):
                self.code.add(resolve(self.settings.root, listing.spec))
        own = shape_tables.spans_of(self.page)
        self.outputs: list[list[dict[str, Any]]] = []  # of the cells of a lab
        self.twin: PageProof | None = None  # the other language's lab, if that ran along
        self.opened: set[str] = set()
        self.ran: set[tuple[str, int]] = set()
        self.unfinished = set(range(len(self.page.blocks)))
        self.recalled: bool | None = None
        self.spans = [span for span in self.page.spans if span not in own]
        self.numbers = NumberProof(project, self.page)
        self.entry.numbers = self.numbers.counts()

    def note(self, findings: list[Finding]) -> list[Finding]:
        self.entry.findings += [FindingEntry(one.line, one.message) for one in findings]
        return findings

    @cached_property
    def formulas(self) -> formula_proof.Judge:
        """What judges the formulas of the page."""
        return formula_proof.Judge(self)

    # 1. Accounted for.

    def accounted(self) -> list[Finding]:
        """What is wrong with how the page is written: fences, marks, listings, links, figures."""
        found = self.numbers.accounted() + self.formulas.written()
        return self.note(accounted.check(self) + found)

    # 2 to 5, 8. Blocks, their shape comments, their sentences, tables and outputs.

    def spans_for(self, index: int) -> list[Span]:
        """The spans that are judged in the namespace of block number `index`."""
        return [span for span in self.spans if self.home(span.line) == index]

    def home(self, line: int) -> int:
        """The block that a line speaks of: the last one above it, in its section if there is one.

        What stands above the first block of its section, as a short answer does, speaks of that.
        """
        starts = [block.line for block in self.page.blocks]
        heads = [heading.line for heading in self.page.headings]
        above = sum(start < line for start in starts)
        begin = max((head for head in heads if head <= line), default=0)
        end = min((head for head in heads if head > line), default=sys.maxsize)
        below = not self.page.is_lab and above < len(starts) and starts[above] < end
        if below and (above == 0 or starts[above - 1] < begin):
            return above
        return max(above - 1, 0)

    def home_of(self, claim: Claim, entry: Entry) -> int:
        """The block beside which the ledger's expression for a number is evaluated."""
        place = entry.place
        return self.home(claim.line) if place is None else self.numbers.block_of(place)

    def prose(self) -> list[Finding]:
        """The sentences of a page that has no block."""
        found = self._judge(Judge(self.settings, self.page, None, self.code), self.spans)
        return self.note(found + self._beside(0, None))

    def block(self, index: int) -> list[Finding]:
        """One block: it runs, prints what is shown, and its sentences hold."""
        if self.recalled is None:
            self.recalled = self.project.keeper.recall(self)
        if self.recalled:
            return []
        found = self._block(index)
        self.unfinished.discard(index)
        if not self.unfinished and not self.entry.findings:
            self.project.keeper.keep(self)
        return found

    def note_run(self, run: Run) -> None:
        """Remember what a run opened, and which shape comments it checked."""
        self.opened |= run.opened
        self.ran |= run.ran

    def _block(self, index: int) -> list[Finding]:
        block = self.page.blocks[index]
        spans = self.spans_for(index)
        if block.language != "python" or block.skip is not None:
            run, found = None, [] if block.skip is not None else self._shell(block)
            found += self._judge(Judge(self.settings, self.page, None, self.code), spans)
            found += self._beside(index, None)
        else:
            run, found = self._run(block, spans)
        if block.skip is not None:
            verdict = "skipped"
        else:
            verdict = "fails" if found and (run is None or self._broke(run)) else "holds"
        self.entry.blocks.append(BlockEntry(block.line, block.kind, verdict, block.skip or ""))
        return self.note(found)

    @staticmethod
    def _broke(run: Run) -> bool:
        return (run.error is None) == (run.block.raises is not None)

    def _shell(self, block: Block) -> list[Finding]:
        carrier = CodeBlock(block.code, block.line, block.language)
        try:
            with contextlib.chdir(self.settings.root):
                TestBlock.runtest(SimpleNamespace(name=f"line {block.line}", obj=carrier))
        except subprocess.CalledProcessError as error:
            detail = (error.stderr or b"").decode(errors="replace")
            message = f"the commands end with exit code {error.returncode}"
            return [Finding(self.page.path, block.line, message, detail)]
        return []

    def _run(self, block: Block, spans: list[Span]) -> tuple[Run, list[Finding]]:
        run = self._once(block)
        self.note_run(run)
        found = self.errors(run) or self.not_imported(block)
        if not found:
            found += self._unsaid(run)
            found += self._output(run)
            found += self.sentences(run, spans)
            if run.drew_unseeded:
                found += second_runs.depends_on_seed(self, run, spans)
            program = ("gpu", language_pairs.tree_of(block.code))
            if block.gpu and program not in self.project.done:
                rehearsed = second_runs.rehearsed(self, block, run)
                found += rehearsed
                if not rehearsed:
                    self.project.done.add(program)
        else:
            self.unjudged(block, spans)
        return run, found

    def _once(self, block: Block) -> Run:
        """The block's run; one that ended well serves the same program in the other language."""
        on_cpu = accelerator.OnCpu(self.page.path, block.first) if block.gpu else None
        try:
            comments = tuple(shape_comments.comments_of(block.code)[0].items())
        except (SyntaxError, tokenize.TokenError):
            return execute(self.page, block)
        program = (language_pairs.tree_of(block.code), comments, block.raises)
        kept = self.project.runs.pop(program, None)
        if kept is not None and kept.page is not self.page:
            return replace(kept, page=self.page, block=block)
        # A mode around what is compiled would be compiled with it.
        stage = on_cpu.stage(listening="compile(" not in block.code) if on_cpu else None
        run = execute(self.page, block, within=stage)
        run.on_cpu = on_cpu
        if not self.errors(run):
            self.project.runs[program] = run
        return run

    def errors(self, run: Run) -> list[Finding]:
        """Errors, windows, moves and shape comments of one run."""
        block, path = run.block, self.page.path
        found = []
        if run.moved_to:
            remedy = "leave the working directory alone, or go back"
            message = "the block changes the working directory"
            found.append(Finding(path, block.line, message, run.moved_to, remedy))
        for line, name in run.patched:
            message = f"the block changes {name}, which other code uses too"
            remedy = "put it back: with unittest.mock.patch.object(…), say"
            found.append(Finding(path, line, message, remedy=remedy))
        error = run.error
        failed = run.watch.failed
        for line, wrong in failed:  # whatever the block's own code caught
            detail = run.traceback() if wrong is error else ""
            found.append(Finding(path, line, str(wrong), detail, wrong.remedy))
        if any(wrong is error for _, wrong in failed):
            pass
        elif block.raises is not None:
            name, _, words = block.raises.partition(": ")
            wanted = name.rpartition(".")[2]
            if error is None:
                found.append(Finding(path, block.line, f"the block does not raise {wanted}"))
            elif not _is_meant(error, wanted):
                message = f"the block raises {type(error).__name__}, not {wanted}"
                found.append(Finding(path, run.error_line(), message, run.traceback()))
            elif words not in str(error):
                message = f"the block raises another {wanted}: {words!r} is not in its message"
                found.append(Finding(path, run.error_line(), message, run.traceback()))
        elif error is not None:
            line = run.error_line()
            lines = run.last_line.splitlines()
            message, remedy = lines[-1 if isinstance(error, SyntaxError) else 0], ""
            if isinstance(error, SystemExit):
                message, remedy = f"the block leaves the interpreter: {message}", "remove sys.exit"
            elif isinstance(error, TooMuchOutput | Endless):
                message = f"the block {error}"
                remedy = "print less" if isinstance(error, TooMuchOutput) else "let it end"
            elif is_window(error):
                message = f"the block opens a window: {message}"
                remedy = "keep the figure and leave out show()"
            found.append(Finding(path, line, message, run.traceback(), remedy))
        for line in run.unrun_comments:
            message = "this comment was never checked: its line makes nothing or never ran"
            found.append(Finding(path, line, message, remedy="move or remove the comment"))
        if not found:
            last = block.first + len(block.code.splitlines())
            little = shape_comments.says_nothing(run.watch, block.first, last)
            found += [Finding(path, line, said, remedy=remedy) for line, said, remedy in little]
        return found

    def not_imported(self, block: Block, above: str = "") -> list[Finding]:
        """Modules that are there because other code has loaded them; `above` are earlier cells."""
        return [
            Finding(
                self.page.path,
                line + block.first - 1,
                f"AttributeError in a fresh interpreter: nothing here imports {name}",
                remedy=f"add import {name}",
            )
            for line, name in module_leaks.not_imported(block.code, above)
        ]

    def _unsaid(self, run: Run) -> list[Finding]:
        """An error of which the page says no more than the type: another one would do as well."""
        raises = run.block.raises
        if raises is None or ": " in raises or self._shows(run):
            return []
        message = f"nothing says which {raises} the block raises"
        remedy = f"show it as the output, or write raises {raises}: words of its message"
        return [Finding(self.page.path, run.error_line(), message, run.last_line, remedy)]

    def printed(self, run: Run) -> str:
        """What the page has to show: what was printed, and the error when the page shows it."""
        return run.stdout + (run.last_line + "\n" if run.block.raises and self._shows(run) else "")

    @staticmethod
    def _shows(run: Run) -> bool:
        """True when the output's last lines are the error's."""
        shown = run.block.output.text if run.block.output else ""
        kind = type(run.error).__name__
        return any(re.match(rf"([\w.]+\.)?{kind}\b", line) for line in shown.splitlines())

    def _output(self, run: Run) -> list[Finding]:
        block, path = run.block, self.page.path
        printed = self.printed(run)
        if block.output is None:
            if printed.strip() and not block.silent:
                message = "what this block prints is not shown"
                remedy = f"{UPDATE}, or <!--proseproof: silent--> above the block"
                return [Finding(path, block.line, message, diff("", printed), remedy)]
            if block.silent and not printed.strip():
                message = "marked silent, but the block prints nothing"
                return [Finding(path, block.line, message, remedy="remove the mark")]
            return []
        verdict = "holds"
        found = []
        if block.silent:
            verdict = "fails"
            found.append(Finding(path, block.line, "marked silent, but its output is shown"))
        elif not outputs.same(block.output.text, printed):
            verdict = "fails"
            detail = diff(block.output.text, printed, "shown", "printed")
            message = "the block prints something else than the page shows"
            found.append(Finding(path, block.output.line, message, detail, UPDATE))
        self.entry.outputs.append(FenceEntry(block.output.line, "output", verdict))
        return found

    def sentences(self, run: Run, spans: list[Span]) -> list[Finding]:
        judge = Judge(self.settings, self.page, run, self.code)
        found = self._judge(judge, spans)
        index = next(n for n, block in enumerate(self.page.blocks) if block is run.block)
        found += self._beside(index, run)
        for table in self.page.tables:
            if shape_tables.block_of(self.page, table) is run.block:
                claims, wrong = shape_tables.check(self.page, table, judge.values)
                self.entry.claims += claims
                found += wrong
        for line, expression, path in run.block.figures:
            found += figures.check(
                self.settings, self.page.path, line, expression, path, run.namespace
            )
        return found

    def _beside(self, index: int, run: Run | None) -> list[Finding]:
        """The numbers and formulas of the prose that speak of a block."""
        with self._stage(), dependencies.opened() as opened:
            found = self.numbers.evaluated(index, self.home_of, run)
            found += self.formulas.judged(index, run)
        self.opened |= opened
        return found

    def _stage(self) -> contextlib.AbstractContextManager[Any]:
        """The next cell of a lab goes on with the state; a block starts afresh anyway."""
        return interpreter_state.restored() if self.page.is_lab else contextlib.nullcontext()

    def _judge(self, judge: Judge, spans: list[Span]) -> list[Finding]:
        found = []
        with self._stage(), dependencies.opened() as opened:
            verdicts = [judge.judge(span) for span in spans]
        self.opened |= opened
        for verdict in verdicts:
            span = verdict.span
            self.entry.claims.append(ClaimEntry(span.line, span.text, verdict.rule, verdict.word))
            if not verdict.holds:
                found.append(self._untrue(verdict))
        return found

    def _untrue(self, verdict: Verdict) -> Finding:
        span = verdict.span
        remedy = {
            "": "write what is true, or mark it: {.wrong} for what is deliberately wrong, "
            "{.text} for what is not Python",
            "wrong": "write what is true",
            "text": "write a name that exists, or give the word its meaning in "
            + self.settings.mentioned,
        }[span.mark]
        message = f"`{span.text}` ({verdict.rule}): {verdict.reason}"
        return Finding(self.page.path, span.line, message, remedy=remedy)

    def unjudged(self, block: Block, spans: list[Span]) -> None:
        self.entry.claims += [
            ClaimEntry(span.line, span.text, "none", "unproved") for span in spans
        ]
        if block.output is not None:
            self.entry.outputs.append(FenceEntry(block.output.line, "output", "fails"))

    @property
    def record_file(self) -> Path:
        """Where what the cells of a lab show is recorded, for all languages."""
        place = self.settings.language(self.page.path)
        return records.file_of(self.settings, place[1] if place else self.page.path)

    @property
    def language(self) -> str:
        """The page's language; none if the site has only one."""
        place = self.settings.language(self.page.path)
        return place[0] if place else ""

    def cells(self) -> list[Finding]:
        """All cells of a lab, and what they show against what is recorded."""
        return self.note(lab_runner.cells(self))

    # 6, 7, 9. Pairs, freshness, ids.

    def pair(self) -> list[Finding]:
        """Where the two languages differ."""
        other = self.project.other(self.page.path)
        if other is None:
            there = self.settings.counterpart(self.page.path)
            return self.note(
                [Finding(self.page.path, 1, f"there is no {there}", "", "translate it")]
            )
        found = language_pairs.compare(self.settings, self.page, other)
        return self.note(found + number_proof.compared(self.project, self.page, other))

    def fresh(self) -> list[Finding]:
        """Sections in which one language moved on alone."""
        other = self.project.other(self.page.path)
        return self.note(translation_lock.check(self.settings, self.page, other)) if other else []

    def covered(self) -> list[Finding]:
        """Ids that the page declares and does not treat, or the other way round."""
        return self.note(covered_ids.check_page(self.settings, self.page))

    def whole(self) -> list[Finding]:
        """Every proof of the page, one after the other."""
        return [finding for proof in self.steps() for finding in proof[1]()]

    def steps(self) -> list[tuple[str, Any]]:
        """The proofs by name, in the order in which they run."""
        steps: list[tuple[str, Any]] = [("accounted", self.accounted)]
        if self.settings.language(self.page.path) is not None:
            steps += [("pair", self.pair), ("fresh", self.fresh), ("covered", self.covered)]
        if self.page.is_lab:
            return [*steps, ("cells", self.cells)]
        for index, block in enumerate(self.page.blocks):
            steps.append((f"line {block.line}", partial(self.block, index)))
        said = self.spans or self.numbers.bound or self.page.formulas
        if not self.page.blocks and said:
            steps.append(("prose", self.prose))
        return steps
