"""Proving a change of the drill: what catches it, or why it means nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from proseproof.drill_changes import Change, is_measured
from proseproof.execution import execute
from proseproof.messages import Finding
from proseproof.page import Block, Page
from proseproof.project import Project, check_project
from proseproof.prover import PageProof
from proseproof.settings import Settings


def _proofs(project: Project, change: Change) -> Iterator[tuple[str, Callable[[], list[Finding]]]]:
    """The proofs that can see the change, those that are likely to first."""
    pages = [path for path in change.texts if path.endswith(".md") or "/labs/" in path]
    touched = pages or _readers(project, [*change.texts])
    late: list[tuple[str, Callable[[], list[Finding]]]] = []
    for path in touched:
        steps = PageProof(project, path).steps()
        for name, step in steps:
            if name == "fresh" and not change.alone:
                continue
            if name == "cells" and is_measured(project.page(path)):
                continue
            number = name.removeprefix("line ")
            near = path == change.path and number.isdigit() and int(number) <= change.line
            if name in ("accounted", "pair", "covered", "fresh"):
                yield f"{path} {name}", step
            elif near:
                late.insert(0, (f"{path} {name}", step))
            else:
                late.append((f"{path} {name}", step))
    yield from late
    if pages and change.path:
        yield "project", lambda: check_project(project)
        for path in project.paths():
            if path not in touched:
                proof = PageProof(project, path)
                yield f"{path} links", proof.accounted


def _readers(project: Project, sources: list[str]) -> list[str]:
    """Pages that quote or import a source; those that quote it first."""
    quoting, importing = [], []
    for path in project.paths():
        page = project.page(path)
        if any(one.spec.partition(":")[0] in sources for one in page.listings):
            quoting.append(path)
        elif any(name in block.code for block in page.blocks for name in project.settings.rewrite):
            importing.append(path)
    return quoting + importing


def prove(settings: Settings, project: Project, change: Change) -> str:
    """The first finding that the change causes, or nothing."""
    fresh_project = Project(settings, {
        path: page for path, page in project.pages.items() if path not in change.texts
    })  # fmt: skip
    for path in change.texts:
        if path.endswith(".md") or "/labs/" in path:
            fresh_project.page(path)
    for name, step in _proofs(fresh_project, change):
        found = step()
        if found:
            return f"{name}: {found[0].path}:{found[0].line}: {found[0].message}"
    return _tests(settings, change)


def means_nothing(settings: Settings, project: Project, change: Change) -> str:
    """Why a change that nobody caught leaves the page right; nothing when it does not."""
    old = project.pages.get(change.path)
    if old is None:
        return _another_example(settings, change)
    new = Project(settings).page(change.path)
    pairs = [
        (one, two)
        for one, two in zip(old.blocks, new.blocks, strict=True)
        if one.code != two.code and one.language == "python"
    ]
    if pairs and old.is_lab:
        return "the cells print and draw the same, and every sentence about them holds"
    if pairs and all(_computes_the_same(old, one, new, two) for one, two in pairs):
        return "the code computes the same"
    if pairs and change.kind == "operator, index or keyword":
        return "the page stays true: the code prints what is shown, and every sentence holds"
    if change.kind == "digit in a number" and re.search("[<>]", change.what):
        return "the inequality stays true"
    return ""


def _another_example(settings: Settings, change: Change) -> str:
    """The reason for a source that only tries another size of the tensors it makes up."""
    sized = "|".join(("randn", "rand", "randint", "zeros", "ones", "arange", "full", "empty"))
    before, _, line = change.what.partition(" in ")
    old = before.partition(" → ")[0].strip("'")
    made = re.search(rf"\b(?:{sized})\(([^)]*)", line)
    if old.isdigit() and made and re.search(rf"\b{old}\b", made[1]):
        return "it tries an example of another size, and all that is said of it holds"
    return ""


def _computes_the_same(old: Page, one: Block, new: Page, two: Block) -> bool:
    first, second = execute(old, one), execute(new, two)
    names = {name for name in first.namespace if not name.startswith("__")}
    return first.stdout == second.stdout and all(
        _same_value(first.namespace[name], second.namespace.get(name)) for name in names
    )


def _same_value(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if hasattr(one, "numel") and hasattr(one, "shape"):
        return bool(one.shape == two.shape and (one == two).all())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same_value, one, two))
    return not isinstance(one, int | float | str | bool) or one == two


def _tests(settings: Settings, change: Change) -> str:
    """Run the test file that mirrors a changed source, as the whole suite would."""
    for path in change.texts:
        match = re.fullmatch(r"src/(\w+(?:/\w+)*)/(\w+)\.py", path)
        file = f"tests/{match[1]}/test_{match[2]}.py" if match else ""
        if match and (settings.root / file).is_file():
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", file],
                cwd=settings.root,
                env={
                    **os.environ,
                    "PYTHONPATH": str(settings.root / "src"),
                    "OMP_NUM_THREADS": "1",
                },
                capture_output=True,
                text=True,
            )
            if done.returncode:
                failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
                return f"test: {failed[0] if failed else file}"
    return ""
