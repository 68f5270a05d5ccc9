"""`bind` for formulas: what those without a relation are, as far as it can be guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proseproof.bind import HEAD, place_of, put_names, quoted
from proseproof.bindings import OPEN, SYMBOLS
from proseproof.execution import execute
from proseproof.formula_arithmetic import FormulaError, equal
from proseproof.formula_proof import Judge
from proseproof.formula_values import FreeIndex, Scope
from proseproof.formulas import Said
from proseproof.notation import Elsewhere, InBlock
from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.report import write_whole


@dataclass
class Bound:
    """What became of the formulas of a page: guesses with their reason, and those refused."""

    guesses: list[tuple[Said, str, str]] = field(default_factory=list)
    refused: list[tuple[Said, str]] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)  # whose lone symbols are others now


def bind(project: Project, path: str) -> Bound:
    """Add entries for the formulas of a page that have none, and list its lone symbols.

    Where a section has lost a formula and got another, the other is refused: it may be a mistake.
    """
    proof = PageProof(project, path)
    judge, done = proof.formulas, Bound()
    if not judge.said or judge.entries is None:
        return done
    lost = {entry.section: entry.key for entry in judge.lost()}
    for one in judge.said:
        if not judge.needs_entry(one) or judge.entry(one) is not None:
            continue
        if one.section in lost:
            done.refused.append((one, lost[one.section]))
        else:
            done.guesses.append((one, *_guess(proof, judge, one, done)))
    here = judge.lone()
    known = judge.entries.symbols
    done.sections = [name for name in {**known, **here} if known.get(name) != here.get(name)]
    if done.guesses or done.sections:
        _write(project, path, judge, done)
    return done


def _guess(proof: PageProof, judge: Judge, one: Said, done: Bound) -> tuple[str, str]:
    """An expression and why it was chosen."""
    tree = one.trees[0]
    for other, expression, _ in done.guesses:
        if other.trees == one.trees:
            return expression, "as above"
    for other in judge.said:
        entry = judge.entry(other)
        if entry is not None and other.trees == one.trees:
            return entry.expression, "as elsewhere on the page"
    if tree in judge.meaning.terms:
        return judge.meaning.terms[tree], "as a rule"
    if judge.is_term(one):
        return "term()", "a part of a formula on this page"
    name = _named(proof, judge, one)
    return (name, "the same value") if name else (OPEN, "unknown")


def _named(proof: PageProof, judge: Judge, one: Said) -> str:
    """The variable of the block that has the formula's value."""
    blocks, home = proof.page.blocks, judge.home(one)
    if proof.page.is_lab or not blocks or blocks[home].language != "python":
        return ""
    run = execute(proof.page, blocks[home])
    values: dict[str, Any] = {**run.watch.bindings, **run.namespace}
    try:
        value = Scope(InBlock(judge.meaning, block=values)).value(one.trees[0])
    except (FormulaError, FreeIndex, Elsewhere):
        return ""
    names = [name for name, other in values.items() if type(other) in (int, float)]
    return next((name for name in names if equal(values[name], value)), "")


def _write(project: Project, path: str, judge: Judge, done: Bound) -> None:
    name = project.ledger.file(path)
    file = project.settings.root / name
    text = file.read_text(encoding="utf-8") if file.is_file() else HEAD
    lines = text.rstrip("\n").split("\n")
    wanted = ["description", "", *(heading.anchor for heading in judge.proof.page.headings)]
    order = [(one.section, one.key) for one in judge.said]
    new = {(one.section, one.key): expression for one, expression, _ in done.guesses}
    for section in done.sections:
        put_names(lines, wanted, section, judge.lone().get(section, []), SYMBOLS)
    for position, (section, key) in enumerate(order):
        if (section, key) in new:
            line = f"{quoted(key)} = {quoted(new[section, key])}"
            lines.insert(place_of(lines, order, wanted, position), line)
    write_whole(file, "\n".join(lines) + "\n")
    project.ledger.forget(path)
