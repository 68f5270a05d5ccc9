"""proseproof proves documentation: its blocks run, its outputs and sentences are true.

The proofs run with pytest, on every page that [tool.proseproof] in pyproject.toml names:

    pytest                        every page; what held before, and still stands, is not run again
    pytest docs/page.md           one page
    pytest --since main           what the change touches
    pytest --prove-again          every page, from nothing

The commands below look after the pages, in the folder that holds pyproject.toml.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections import Counter
from pathlib import Path

from proseproof import report, shape_comments, translation_lock
from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.settings import Settings, SettingsError


def _update(project: Project, names: list[str], record_to: str) -> int:
    from proseproof.update import update

    sys.meta_path.insert(0, shape_comments.Finder(project.settings.rewrite))
    paths = project.paths()
    if unknown := [name for name in names if name not in paths]:
        print(f"no such page: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if record_to:
        return _record(project, names, Path(record_to))
    chosen = [path for path in paths if not names or path in names]
    for path in list(chosen):  # both languages at once
        other = project.settings.counterpart(path)
        if other in paths and other not in chosen:
            chosen.append(other)
    failed = False
    for path in chosen:
        changed, found = update(project, path)
        if changed:
            print(f"rewrote the outputs of {path}")
        for finding in found:
            failed = True
            print(finding, file=sys.stderr)
    return int(failed)


def _record(project: Project, names: list[str], file: Path) -> int:
    """Run one lab, and write its record, or what is wrong with it, beside the repository's own."""
    from proseproof.report import write_whole
    from proseproof.update import record

    if len(names) != 1 or not names[0].endswith(".py"):
        print("--record-to takes one lab", file=sys.stderr)
        return 2
    proof = PageProof(project, names[0])
    found = proof.page.findings or record(proof, file)[1]
    if found:
        write_whole(file.with_suffix(".txt"), f"{found[0].line}\n{found[0].message}")
    return int(bool(found))


def _confirm(project: Project, places: list[str], everything: bool) -> int:
    settings = project.settings
    named, pairs = set(), []
    paths = project.paths()
    for place in places:
        path, _, anchor = place.partition("#")
        inner = settings.language(path)
        if path not in paths or inner is None:
            print(f"{place}: no such page in a language", file=sys.stderr)
            return 2
        if anchor not in {section.anchor for section in project.page(path).sections}:
            print(f"{place}: {path} has no such section", file=sys.stderr)
            return 2
        named.add(f"{inner[1]}#{anchor}")
    first = next(iter(settings.languages), "")
    for path in paths:
        language, other = settings.language(path), project.other(path)
        if language is not None and language[0] == first and other is not None:
            pairs.append((project.page(path), other))
    recorded = translation_lock.confirm(settings, pairs, named, everything)
    for key in recorded:
        print(f"recorded {key}")
    print(f"{len(recorded)} sections recorded in {settings.lock}")
    return 0


def _bind(project: Project, names: list[str]) -> int:
    from proseproof.bind import bind

    ledger = project.ledger
    if not project.settings.bindings:
        print('[tool.proseproof] names no folder: bindings = "docs/bindings"', file=sys.stderr)
        return 2
    paths = [path for path in project.paths() if ledger.leads(path)]
    twins = {project.settings.counterpart(path): path for path in paths}
    chosen = [twins.get(name, name) for name in names] or paths
    if unknown := [name for name in chosen if name not in paths]:
        print(f"no such page: {', '.join(unknown)}", file=sys.stderr)
        return 2
    open_ = 0
    for path in chosen:
        done = bind(project, path)
        for entry, claim, reason in done.refused:
            open_ += 1
            print(f'{path}:{claim.line}: not bound: "{claim.key}": {reason}')
            print(f'    {entry.file}:{entry.line} has "{entry.key}"; mend the page, or that entry')
        for entry, claim in done.moved:
            print(f'{path}:{claim.line}: "{entry.key}" is now "{claim.key}"')
        for claim, guess in done.guesses:
            open_ += guess is None
            said = f"{guess.expression}   ({guess.how}: {guess.why})" if guess else "?"
            print(f'{path}:{claim.line}: "{claim.key}" = {said}\n    {claim.sentence}')
        for section in done.named:
            print(f"{path}: the names of [{section}] were written: look whether they are right")
        open_ += _bind_formulas(project, path)
        counts = Counter(guess.how if guess else "open" for _, guess in done.guesses)
        print(
            f"{ledger.file(path)}: "
            + (", ".join(f"{n} {how}" for how, n in counts.items()) or "nothing new")
        )
    return int(bool(open_))


def _bind_formulas(project: Project, path: str) -> int:
    """Bind the formulas of a page, say how, and count those that wait for their author."""
    from proseproof.bind_formulas import bind

    done = bind(project, path)
    for one, lost in done.refused:
        print(f"{path}:{one.formula.line}: not bound: {one.key}, while {lost} is gone from there")
        print("    mend the page, or take that entry out")
    for one, expression, why in done.guesses:
        print(f"{path}:{one.formula.line}: {one.key} = {expression}   ({why})")
    for section in done.sections:
        print(f"{path}: the lone symbols of #{section} are others now")
    return len(done.refused) + sum(expression == "?" for _, expression, _ in done.guesses)


def _report(project: Project) -> int:
    settings = project.settings
    found = report.load(settings.root / settings.report)
    totals = found.totals
    stale = 0
    for path in project.paths():
        page, text = found.page(path), project.page(path).text
        if page is None or not page.is_current(text):
            stale += 1
            print(f"{path}: {'not proved yet' if page is None else 'changed since it was proved'}")
            continue
        for finding in page.findings:
            print(f"{path}:{finding.line}: {finding.message}")
        for block in page.blocks:
            if block.kind == "skipped":
                print(f"{path}:{block.line}: skipped: {block.reason}")
    print(f"{totals['shown']} shown, {totals['accounted']} accounted for")
    print(", ".join(f"{number} {name}" for name, number in totals.items()))
    if rules := ", ".join(f"{number} {name}" for name, number in found.rules.items()):
        print(f"numbers in the prose that are no claims, by rule: {rules}")
    return int(bool(stale or totals["findings"]))


EPILOG = """
example:
    python -m proseproof update docs/page.md

settings, in [tool.proseproof] of pyproject.toml; the README explains each:
{}
"""


def parser() -> argparse.ArgumentParser:
    """The commands, each with an example."""
    plain = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser(
        prog="python -m proseproof",
        description=__doc__,
        epilog=EPILOG.format(textwrap.indent(textwrap.fill(", ".join(Settings.names())), " " * 4)),
        formatter_class=plain,
    )
    commands = whole.add_subparsers(
        title="commands", dest="command", required=True, metavar="command"
    )

    def add(name: str, summary: str, example: str) -> argparse.ArgumentParser:
        epilog = f"example:\n    python -m proseproof {example}"
        return commands.add_parser(
            name, help=summary, description=summary, epilog=epilog, formatter_class=plain
        )

    update = add("update", "write what blocks print, draw and record", "update docs/page.md")
    update.add_argument("pages", nargs="*", help="these pages and their translations; else all")
    update.add_argument("--record-to", default="", metavar="FILE", help=argparse.SUPPRESS)
    confirm = add("confirm", "record that translations say the same", "confirm docs/en/page.md#top")
    confirm.add_argument("places", nargs="*", metavar="page#anchor", help="else all that changed")
    confirm.add_argument("--all", action="store_true", help="record every section as it is")
    bind = add("bind", "guess what numbers are bound to", "bind docs/en/page.md")
    bind.add_argument("pages", nargs="*", help="these pages; else all")
    add("report", "show what was proved, and what has changed since", "report")
    drill = add(
        "drill",
        "break one thing at a time, and count what is caught",
        "drill --kinds another turned",
    )
    drill.add_argument("--seed", type=int, default=0, help="which things (default: %(default)s)")
    drill.add_argument("--count", type=int, default=200, help="how many (default: %(default)s)")
    drill.add_argument("--workers", type=int, default=2, help="at a time (default: %(default)s)")
    drill.add_argument(
        "--kinds", nargs="+", default=[], metavar="WORD", help="kinds with such a word; else all"
    )
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Carry out one command in the project of the current folder."""
    options = parser().parse_args(arguments)
    try:
        settings = Settings.load(Path.cwd())
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    if settings is None:
        print("no [tool.proseproof] in this folder's pyproject.toml", file=sys.stderr)
        return 2
    project = Project(settings)
    if options.command == "update":
        return _update(project, options.pages, options.record_to)
    if options.command == "confirm":
        return _confirm(project, options.places, options.all)
    if options.command == "bind":
        return _bind(project, options.pages)
    if options.command == "report":
        return _report(project)
    from proseproof.drill import drill as run_drill

    return run_drill(settings, options.seed, options.count, options.workers, options.kinds)


if __name__ == "__main__":
    sys.exit(main())
