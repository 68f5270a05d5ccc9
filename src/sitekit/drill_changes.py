"""Small changes to what instruments run: their scripts, token by token, and names in graphs."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("docs", "assets", "instruments")
# The frame and the views only show and lay out; what is shown is asked of the instruments.
RUNTIME, FRAME = ("operators.js", "tensor.js"), ("runtime.js", "frame.js", "views.js")
OPERATOR, NAME, STEP = "operator of the runtime", "name in a graph", "step of an instrument"
TESTS = "tests/site/instruments"
SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "**": "*", "&": "|",
    "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "&&": "||", "||": "&&", "true": "false", "false": "true", "min": "max", "max": "min",
}  # fmt: skip
TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign>===|!==|=>|\*\*|<=|>=|&&|\|\||\?\?=|\?\?|\?\.|\.\.\.|\+\+|--|[-+*/%]=|.)""",
    re.X | re.S,
)
PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")


@dataclass(frozen=True)
class Change:
    """One file as it is to be, and the tests that ought to fail then, in this order."""

    kind: str
    path: str
    line: int
    what: str
    text: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Token:
    """A word or sign of a script."""

    kind: str
    text: str
    at: int


def tokens(script: str) -> list[Token]:
    """The words and signs of a script; texts are whole, with all that templates compute."""
    found: list[Token] = []
    at = 0
    while at < len(script):
        before = found[-1] if found else Token("sign", "", 0)
        value = before.kind in ("number", "name", "text") or before.text in (")", "]")
        if script[at] == "`":
            kind, end = "text", _template_end(script, at)
        elif script[at] == "/" and not value and (pattern := PATTERN.match(script, at)):
            kind, end = "text", pattern.end()
        else:
            match = TOKEN.match(script, at)
            assert match and match.lastgroup
            kind, end = match.lastgroup, match.end()
        if kind != "skip":
            found.append(Token(kind, script[at:end], at))
        at = end
    return found


def _template_end(script: str, at: int) -> int:
    """Where a template ends that begins here."""
    at += 1
    while script[at] != "`":
        if script[at] == "\\":
            at += 2
        elif script.startswith("${", at):
            at, depth = at + 2, 1
            while depth:
                depth += {"{": 1, "}": -1}.get(script[at], 0)
                at = _template_end(script, at) if script[at] == "`" else at + 1
        else:
            at += 1
    return at + 1


def _left_out(found: list[Token]) -> set[int]:
    """Places where a change means nothing, or never ends: words, attributes, heads of loops."""
    left: set[int] = set()
    for i, token in enumerate(found):
        after = [one.text for one in found[i + 1 : i + 4]]
        if token.text in ("for", "while") and after[:1] == ["("]:
            left |= _until_closed(found, i + 1)
        elif token.text in ("words", "WORDS") and after[:2] in ([":", "{"], ["=", "{"]):
            left |= _until_closed(found, i + 2)
        elif token.text == "h" and after[0] == "(" and after[2:] == [","]:
            left |= _until_closed(found, i + 4) if found[i + 4].text == "{" else set()
        # How dark a cell is, and how fast it moves.
        elif token.text in ("heat", "duration", "delay") and after[0] == ":":
            left |= _until_comma(found, i)
    return left


def _until_comma(found: list[Token], first: int) -> set[int]:
    end = first
    while found[end].text not in (",", "}"):
        end = max(_until_closed(found, end)) + 1 if found[end].text in ("(", "{", "[") else end + 1
    return set(range(first, end))


def _until_closed(found: list[Token], first: int) -> set[int]:
    depth, i = 0, first
    while True:
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(found[i].text, 0)
        if depth == 0:
            return set(range(first, i + 1))
        i += 1


def edits(script: str) -> Iterator[tuple[Token, str]]:
    """Every token that can be changed, and what it becomes."""
    found = tokens(script)
    left = _left_out(found)
    for i, token in enumerate(found):
        before = found[i - 1] if i else Token("sign", "", 0)
        after = found[i + 1].text if i + 1 < len(found) else ""
        value = before.kind in ("number", "name", "text") or before.text in (")", "]")
        texts = "text" in (before.kind, found[min(i + 1, len(found) - 1)].kind)
        if i in left:
            continue
        if token.kind == "number":
            yield token, str(int(token.text) + 1) if token.text.isdigit() else f"1{token.text}"
        elif token.text == "!":
            yield token, ""
        elif token.text in ("min", "max"):
            if before.text == "." and after == "(":
                yield token, SWAPS[token.text]
        elif token.text in ("true", "false"):
            if after != ":":
                yield token, SWAPS[token.text]
        # What puts texts together is no arithmetic, and a sign in front of a number is not two.
        elif token.text in SWAPS and value and not (token.text == "+" and texts):
            yield token, SWAPS[token.text]


def script_changes(file: Path, kind: str, tests: tuple[str, ...]) -> Iterator[Change]:
    """Each change of a token of a script."""
    script = file.read_text(encoding="utf-8")
    for token, new in edits(script):
        text = script[: token.at] + new + script[token.at + len(token.text) :]
        line = script.count("\n", 0, token.at) + 1
        what = f"'{token.text}' → '{new}' in {script.splitlines()[line - 1].strip()[:90]}"
        yield Change(kind, (FOLDER / file.name).as_posix(), line, what, text, tests)


def name_changes(file: Path, chance: random.Random) -> Iterator[Change]:
    """Each name that a graph gives to a value, misspelt."""
    tests = ("tests/sitekit/test_graphs.py::test_recorded_graphs_are_what_the_library_exports_now",)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for i, line in enumerate(lines):
        if not line.startswith("["):
            continue
        for name in json.loads(line.rstrip().removesuffix(","))[2:]:
            if not isinstance(name, str):  # a weight
                continue
            at = chance.randrange(len(name))
            new = name[:at] + name[at + 1 :]
            text = "".join([*lines[:i], line.replace(f'"{name}"', f'"{new}"'), *lines[i + 1 :]])
            path = (FOLDER / "graphs" / file.name).as_posix()
            yield Change(NAME, path, i + 1, f"{name} → {new}", text, tests)


def _own_tests(root: Path, file: Path) -> Iterator[str]:
    """The tests of an instrument, or of the instruments that import a module."""
    for other in sorted((root / FOLDER).glob("*.js")):
        script = other.read_text(encoding="utf-8")
        test = f"{TESTS}/test_{other.stem}.py"
        if (other == file or f'from "./{file.name}"' in script) and (root / test).exists():
            yield test


def choose(root: Path, seed: int, count: int) -> list[Change]:
    """Changes spread evenly over the kinds, and within a kind over the files."""
    chance = random.Random(seed)
    queues: dict[str, dict[str, list[Change]]] = defaultdict(dict)
    for file in sorted((root / FOLDER).glob("*.js")):
        if file.name in RUNTIME:
            tests: tuple[str, ...] = (f"{TESTS}/test_graphs.py",)
            queues[OPERATOR][file.name] = list(script_changes(file, OPERATOR, tests))
        elif file.name not in FRAME:
            tests = (*_own_tests(root, file), f"{TESTS}/test_every_instrument.py")
            queues[STEP][file.name] = list(script_changes(file, STEP, tests))
    for file in sorted((root / FOLDER / "graphs").glob("*.json")):
        queues[NAME][file.name] = list(name_changes(file, chance))
    orders = []
    for files in queues.values():
        for changes in files.values():
            chance.shuffle(changes)
        order = []
        while any(files.values()):
            order += [changes.pop() for changes in files.values() if changes]
        orders.append(order)
    chosen: list[Change] = []
    while len(chosen) < count and any(orders):
        chosen += [order.pop(0) for order in orders if order]
    return chosen[:count]
