"""Proofs that held are kept, under all that they depend on, and are not run again until it changes.

A page's proof depends on what the page says, on the project's files that its blocks import, open or
draw, on the listings that it quotes, on the names in the project's packages that its sentences use,
on the versions of everything installed, on the machine, and on proseproof itself. Whatever of this
changes, the page is proved anew. Whether files and commands that a sentence names exist is looked
up each time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proseproof import dependencies, mentions, shape_comments
from proseproof.claims import Judge
from proseproof.language_pairs import tree_of
from proseproof.listing_words import shown
from proseproof.listings import ListingError
from proseproof.quoted_code import own_code
from proseproof.report import BlockEntry, ClaimEntry, FenceEntry, write_whole

if TYPE_CHECKING:
    from proseproof.prover import PageProof

FOLDER = "kept"
SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "ATEN_CPU_CAPABILITY", "PYTHONHASHSEED")
KINDS = {"blocks": BlockEntry, "claims": ClaimEntry, "outputs": FenceEntry}


def _hash(*parts: Any) -> str:
    text = json.dumps(parts, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _installed() -> Iterator[str]:
    """Every distribution with its version, which most have in the name of a folder: reading the
    metadata of hundreds takes longer than proving a page."""
    for folder in {Path(folder) for folder in sys.path}:
        for info in folder.glob("*.*-info"):
            named = re.fullmatch(r"[^-]+-[^-]+\.dist-info", info.name)
            version = "" if named else importlib.metadata.Distribution.at(info).version
            yield f"{info.name} {version}"


@functools.cache
def _environment() -> str:
    """Everything installed, and the machine."""
    installed = sorted({*_installed()})
    described = Path("/proc/cpuinfo")
    flags = re.search(r"^flags.*$", described.read_text(), re.M) if described.is_file() else None
    chosen = [os.environ.get(name, "") for name in SETTINGS]
    machine = [platform.machine(), platform.processor(), flags[0] if flags else ""]
    return _hash(platform.python_version(), installed, machine, chosen)


@functools.cache
def _ourselves() -> str:
    return _hash([dependencies.digest(file) for file in sorted(Path(__file__).parent.glob("*.py"))])


class Keeper:
    """What was kept by earlier runs, and what this run keeps."""

    def __init__(self, folder: Path, again: bool = False) -> None:
        self.folder, self.again = folder, again
        self.written: set[str] = set()
        self.ran: set[tuple[str, int]] = set()  # shape comments in the source that kept proofs ran
        self.kept: set[str] = set()
        self.redone: dict[str, str] = {}  # by page, why

    def file(self, path: str) -> Path:
        """Where the proof of a page is kept, for this machine and these versions."""
        name = re.sub(r"[^\w.]", "-", path)
        return self.folder / f"{name}-{_environment()[:8]}.json"

    def recall(self, proof: PageProof) -> bool:
        """Fill the page's entry from a kept proof, if there is one and it still stands."""
        path = proof.page.path
        if self.again and path not in self.written:
            self.redone.setdefault(path, "asked for")
            return False
        data, why = self._read(self.file(path))
        why = why or self._changed(proof, data)
        if why:
            self.redone.setdefault(path, why)
            return False
        if path not in self.redone:
            self.kept.add(path)
        moved = dict(zip(data["lines"], _lines(proof), strict=True))
        for entries, kind in KINDS.items():
            for one in data[entries]:
                one["line"] = moved.get(one["line"], one["line"])
                getattr(proof.entry, entries).append(kind(**one))
        proof.outputs = data["shown"]
        self.ran |= {(str(proof.settings.root / name), line) for name, line in data["ran"]}
        return True

    @staticmethod
    def _read(file: Path) -> tuple[dict[str, Any], str]:
        if not file.is_file():
            return {}, "not proved before"
        try:
            check, _, text = file.read_text(encoding="utf-8").partition("\n")
            if hashlib.sha256(text.encode()).hexdigest() != check:
                raise ValueError
            return dict(json.loads(text)), ""
        except ValueError:
            return {}, f"{file.name} was damaged"

    def _changed(self, proof: PageProof, data: dict[str, Any]) -> str:
        """What has changed since the proof was kept; nothing when it stands."""
        for name, value in _parts(proof).items():
            if data["parts"].get(name) != value:
                return f"{name} changed"
        root = proof.settings.root
        now = {_name(path, root) for path in files_of(proof)}
        for name in sorted(now - set(data["files"])):
            return f"{name} is new"
        for name, value in sorted(data["files"].items()):
            if dependencies.digest(root / name) != value:
                return f"{name} changed"
        judge = Judge(proof.settings, proof.page, None, proof.code)
        for span in proof.spans:
            if span.text in data["looked_up"] and not judge.judge(span).holds:
                return f"`{span.text}` is to be judged again"
        return ""

    def keep(self, proof: PageProof) -> None:
        """Keep the proof of a page that held."""
        blocks = proof.page.blocks
        if any(one.language != "python" or dependencies.UNSEEN.search(one.code) for one in blocks):
            return
        root, entry = proof.settings.root, proof.entry
        files = files_of(proof) | dependencies.of_project(proof.opened, root)
        looked_up = {
            claim.span
            for claim in entry.claims
            if claim.rule in ("path", "command", "import")
            or (claim.rule == "name" and _is_own(claim.span, root))
        }
        data = {
            "parts": _parts(proof),
            "files": {_name(path, root): dependencies.digest(path) for path in sorted(files)},
            "looked_up": sorted(looked_up),
            "lines": _lines(proof),
            "shown": proof.outputs,
            "ran": sorted(
                (_name(Path(path), root), line)
                for path, line in proof.ran
                if Path(path).is_relative_to(root)
            ),
            **{name: [asdict(one) for one in getattr(entry, name)] for name in KINDS},
        }
        text = json.dumps(data, ensure_ascii=False)
        write_whole(
            self.file(proof.page.path), f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
        )
        self.written.add(proof.page.path)


def _is_own(name: str, root: Path) -> bool:
    """True for a name that begins with a module of the project."""
    places = [base / name.partition(".")[0] for base in (root / "src", root)]
    return any(one.with_suffix(".py").is_file() or one.is_dir() for one in places)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _parts(proof: PageProof) -> dict[str, str]:
    """What a proof depends on, files aside, each as a hash under a name that one can say."""
    page, settings = proof.page, proof.settings
    quoted = []
    for listing in page.listings:
        try:
            quoted.append(shown(settings, page.path, listing.spec))
        except ListingError as error:
            quoted.append(f"{error} {error.detail}")
    words = sorted({word for span in proof.spans for word in re.findall(r"[\w.]+", span.text)})
    own = own_code(settings.root, settings.rewrite)
    mentioned = sorted(
        word
        for span in proof.spans
        if span.mark == "text"
        for word in {span.text, *mentions.WORD.findall(span.text), *re.findall(r"\w+", span.text)}
        if mentions.on_disk(settings, page, word)
    )
    return {
        "proseproof": _ourselves(),
        "what is installed": _environment(),
        "the settings": _hash(settings.rewrite, settings.homes, settings.drawing),
        "the page": _hash(page.path, _program(proof), _said(proof)),
        "what its numbers are bound to": _hash(proof.numbers.key(proof.home_of)),
        "what it quotes": _hash(quoted),
        "what its formulas are": _hash(proof.formulas.key()),
        "the names it uses": _hash([(w, w in own.names, w in own.keywords) for w in words]),
        "what it mentions": _hash(mentioned),
    }


def _program(proof: PageProof) -> list[Any]:
    """The blocks, wherever their lines stand; comments count where they are shapes."""
    program: list[Any] = []
    for block in proof.page.blocks:
        comments: Any = block.code
        with contextlib.suppress(Exception):  # code that cannot be read is reported where it is run
            comments = shape_comments.comments_of(block.code)
        marks = (block.language, block.silent, block.skip, block.raises)
        shown = block.output.text if block.output else None
        figures = [figure[1:] for figure in block.figures]
        program.append([tree_of(block.code), comments, marks, shown, figures])
    return program


def _said(proof: PageProof) -> list[Any]:
    """What the page says of its blocks."""
    spans = [
        [str(span.said) for span in proof.spans_for(index)]
        for index in range(len(proof.page.blocks))
    ]
    tables = [
        (table.expression, [span.text for _, spans in table.rows for span in spans])
        for table in proof.page.tables
    ]
    return [spans, tables, proof.page.front.get("varies")]


def _lines(proof: PageProof) -> list[int]:
    """The lines of all that is judged, in an order that stays when lines move."""
    page = proof.page
    lines = [block.line for block in page.blocks] + [span.line for span in page.spans]
    lines += [block.output.line for block in page.blocks if block.output]
    lines += [formula.line for formula in page.formulas]
    for table in page.tables:
        lines += [table.line, *(line for line, _ in table.rows)]
    return lines


def files_of(proof: PageProof) -> set[Path]:
    """The project's files that the blocks import or draw."""
    root, blocks = proof.settings.root, proof.page.blocks
    code = [block.code for block in blocks if block.language == "python"]
    figures = [figure for block in blocks for figure in block.figures]
    if figures:
        code += [f"import {module}" for module in proof.settings.drawing]
    if proof.formulas.said:
        code += proof.formulas.meaning.programs
    return {root / path for *_, path in figures} | dependencies.sources(code, root)
