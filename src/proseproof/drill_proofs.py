"""Proving a change of the drill: which proof catches it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

from proseproof.drill_changes import Change, is_measured
from proseproof.messages import Finding
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
            if name in ("fresh", "pair") and not change.alone:
                continue  # that both languages agree does not make it true
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
