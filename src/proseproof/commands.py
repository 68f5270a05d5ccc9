"""Shell commands: the program, the target, the files and what we can ask for have to exist.

The options of the project's own command lines, of proseproof and of pytest are asked of their
parsers, packages that pip installs are looked up in the project's files. Of any other program it
is only known that it is there.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from proseproof.names import is_module
from proseproof.settings import source_files

SUFFIX = re.compile(
    r"\.(py|md|toml|ya?ml|txt|json|css|js|svg|png|ipynb|lock|cfg|html|csv|pt)(:[\w.]+)?$"
)
BUILT_IN = ("git", "cd", "python", "python3", "source", ".")
# Options of pip that take a value which is no package.
VALUED = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "-c")


def command(root: Path, text: str) -> str:
    """`command` when `text` is a shell command that could be carried out; else nothing."""
    return "" if complaint(root, text) else "command"


def complaint(root: Path, text: str) -> str:
    """What is wrong with a shell command, in words; nothing when it could be carried out."""
    try:
        words = shlex.split(text.removeprefix("$ "))
    except ValueError as error:
        return str(error)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if len(words) < 2 and not (words and _which(words[0])):
        return f"there is no program {words[0] if words else text!r}"
    program, *rest = words
    if program == "make":
        return _make(root, rest)
    if program not in BUILT_IN and not _which(program):
        return f"there is no program {program!r}"
    if program in ("python", "python3", "torchrun") and "-m" in rest:
        program, *rest = rest[rest.index("-m") + 1 :] or [""]
        if not re.fullmatch(r"[\w.]+", program) or not is_module(program):
            return f"there is no module {program!r}"
        top = program.partition(".")[0]
        if top == "proseproof" or source_files(root, top):
            return _own(program, tuple(rest)) or _files(root, rest)
    if program == "pip" and rest[:1] == ["install"]:
        return _pip(root, rest[1:])
    if missing := _no_subcommand(root, program, rest[:1]):
        return missing
    if program == "pytest":
        known = _pytest_options(root)
        options = [word.partition("=")[0] for word in rest if word.startswith("-")]
        for option in options:
            if (option if option.startswith("--") else option[:2]) not in known:
                return f"pytest has no option {option}"
    return _files(root, rest)


def _no_subcommand(root: Path, program: str, words: list[str]) -> str:
    """Of a program whose source names its commands, one that it does not name."""
    if not words or not re.fullmatch(r"[a-z][\w-]*", words[0]) or (root / words[0]).exists():
        return ""
    word = words[0]
    for script in importlib.metadata.entry_points(group="console_scripts", name=program):
        package, *parts = script.module.split(".")
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if program == "pip":
                known = (Path(folder) / f"_internal/commands/{word}.py").is_file()
                return "" if known else f"pip has no command {word!r}"
            file = Path(folder).joinpath(*parts).with_suffix(".py")
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            names = re.findall(r"(?:\.command|add_parser)\(\s*(?:name=)?[\"']([\w-]+)[\"']", text)
            if names and word not in names:
                return f"{program} has no command {word!r}; it has {', '.join(sorted(names))}"
    return ""


def _which(program: str) -> bool:
    return bool(shutil.which(program) or (Path(sys.executable).parent / program).exists())


def _files(root: Path, words: list[str]) -> str:
    files = [word.partition("#")[0].partition("::")[0] for word in words if SUFFIX.search(word)]
    missing = [file for file in files if not (root / file).exists()]
    return f"there is no file {missing[0]}" if missing else ""


def _make(root: Path, words: list[str]) -> str:
    makefile = root / "Makefile"
    text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
    targets = set(re.findall(r"^([\w-]+)\s*:(?!=)", text, re.MULTILINE))
    for word in words:
        name, sign, _ = word.partition("=")
        if sign and not re.search(rf"\$[({{]{re.escape(name)}[)}}]", text):
            return f"the Makefile does not use {name}"
        if not sign and word not in targets:
            return f"the Makefile has no target {word}; it has {', '.join(sorted(targets))}"
    return ""


class _Parsed(Exception):
    """The arguments were understood."""


@functools.cache
def _own(module: str, words: tuple[str, ...]) -> str:
    """What a module's own parser says to these words; it is called by the module's `main`."""
    inner = f"{module}.__main__"
    try:
        found = importlib.import_module(inner if is_module(inner) else module)
    except Exception as error:
        return f"{module} cannot be imported: {error}"
    main = getattr(found, "main", None)
    if main is None or "parse_args(" not in inspect.getsource(main):
        return ""
    parse = argparse.ArgumentParser.parse_args

    def parse_these(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        parse(parser, list(words))
        raise _Parsed

    said = io.StringIO()
    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", parse_these),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(_Parsed),
    ):
        try:
            main()
        except SystemExit as end:
            return said.getvalue().strip().rpartition("\n")[2] if end.code else ""
    return ""


@functools.cache
def _pytest_options(root: Path) -> frozenset[str]:
    """The options that pytest has in this project, its plugins' included."""
    asked = [sys.executable, "-m", "pytest", "--help"]
    text = subprocess.run(asked, cwd=root, capture_output=True, text=True).stdout
    heads = re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE)
    return frozenset(re.findall(r"(?<![\w-])-{1,2}\w[\w-]*", " ".join(heads)))


def _pip(root: Path, words: list[str]) -> str:
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif word in ("-r", "--requirement", "-e", "--editable"):
            place = next(rest, "").partition("[")[0]
            if not place or not (root / place).exists():
                return f"there is no {place or 'file'} to install from"
        elif not word.startswith("-") and (said := _package(root, word)):
            return said
    return ""


def _package(root: Path, word: str) -> str:
    """What is wrong with a package that pip is asked for."""
    own, known, urls = _declared(root)
    if word.startswith((".", "/")):
        return "" if (root / word.partition("[")[0]).exists() else f"there is no {word}"
    try:
        wanted = Requirement(f"x @ {word}" if "://" in word and "@ " not in word else word)
    except InvalidRequirement as error:
        return str(error).splitlines()[0]
    name = canonicalize_name(wanted.name)
    if wanted.url is not None:
        address, _, folder = wanted.url.removeprefix("git+").partition("#subdirectory=")
        if not address.startswith(tuple(urls)):
            return f"{address} is not in [project.urls] of pyproject.toml"
        if folder and not (root / folder).is_dir():
            return f"there is no folder {folder}"
        if "://" in word.partition("@ ")[0]:
            return ""
    if name not in own and name not in known:
        return f"{wanted.name} is neither this project nor in its pyproject.toml or requirements"
    if missing := sorted(wanted.extras - own.get(name, wanted.extras)):
        return f"{wanted.name} has no extra {missing[0]}"
    for one in known.get(name, ()):
        for pin in one.specifier:
            if pin.operator == "==" and not wanted.specifier.contains(pin.version, True):
                return f"{wanted.name} is pinned: {one}"
    return ""


def _declared(root: Path) -> tuple[dict[str, set[str]], dict[str, list[Requirement]], list[str]]:
    """The project's own packages with their extras, what they and its files ask for, its URLs."""
    own: dict[str, set[str]] = {}
    lines: list[str] = []
    urls: list[str] = []
    for file in (root / "pyproject.toml", *root.glob("src/*/pyproject.toml")):
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        project = tomllib.loads(text).get("project", {})
        extras = project.get("optional-dependencies", {})
        if "name" in project:
            own[canonicalize_name(project["name"])] = {*extras}
        lines += [
            *project.get("dependencies", []),
            *(one for many in extras.values() for one in many),
        ]
        urls += project.get("urls", {}).values()
    for file in root.glob("requirements*.txt"):
        lines += file.read_text(encoding="utf-8").splitlines()
    known: dict[str, list[Requirement]] = {}
    for line in lines:
        with contextlib.suppress(InvalidRequirement):  # an option, a comment, an empty line
            one = Requirement(line.partition(" #")[0].strip())
            known.setdefault(canonicalize_name(one.name), []).append(one)
    return own, known, urls
