"""Shell commands in sentences: the program, the target and the files have to exist."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

from proseproof.names import is_module

SUFFIX = re.compile(
    r"\.(py|md|toml|ya?ml|txt|json|css|js|svg|png|ipynb|lock|cfg|html|csv|pt)(:[\w.]+)?$"
)


def command(root: Path, text: str) -> str:
    """`command` when `text` is a shell command whose program and files exist; else nothing."""
    try:
        words = shlex.split(text.removeprefix("$ "))
    except ValueError:
        return ""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if len(words) < 2 and not (words and shutil.which(words[0])):
        return ""
    program, *rest = words
    if program == "make":
        makefile = root / "Makefile"
        text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
        targets = set(re.findall(r"^([\w-]+)\s*:(?!=)", text, re.MULTILINE))
        plain = [word for word in rest if "=" not in word]
        return "command" if all(word in targets for word in plain) else ""
    if program in ("python", "python3") and rest[:1] == ["-m"]:
        name = rest[1] if len(rest) > 1 else ""
        if not re.fullmatch(r"[\w.]+", name) or not is_module(name):
            return ""
        rest = rest[2:]
    elif program not in ("git", "cd", "python", "python3", "source", ".") and not _which(program):
        return ""
    files = [word.partition("#")[0].partition("::")[0] for word in rest if SUFFIX.search(word)]
    return "command" if all((root / file).exists() for file in files) else ""


def _which(program: str) -> bool:
    return bool(shutil.which(program) or (Path(sys.executable).parent / program).exists())
