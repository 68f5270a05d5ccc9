"""The drill of instruments: what it changes, what it leaves alone, and what it counts."""

import json
from pathlib import Path

import pytest

from sitekit.drill import ROOT, drill
from sitekit.drill_changes import FOLDER, NAME, OPERATOR, STEP, choose, edits, tokens

SCRIPT = r"""// a + b
import { h } from "./frame.js"
const text = `a ${x ? `b ${1 + 2}` : "}"} c`, found = /[/"]+\//.exec(text) / 2
for (let i = 0; i < 3; i++) total += rows[i]
const isOff = sum => !(sum - 1 < 1e-4) && true
const box = h("rect", { x: 4 + 5, class: "big" }, "word" + name)
const options = { heat: x => (x + 5) / 10, least: Math.min(a, -1) }
export default { words: { en: { says: n => (n === 1 ? "one" : "many") } } }
"""


def test_tokens_are_those_of_the_script() -> None:
    found = tokens(SCRIPT)
    assert all(SCRIPT.startswith(one.text, one.at) for one in found)
    texts = [one.text for one in found if one.kind == "text"]
    assert texts[1:3] == ['`a ${x ? `b ${1 + 2}` : "}"} c`', r'/[/"]+\//']


def test_words_attributes_and_heads_of_loops_stay() -> None:
    made = [(token.text, new) for token, new in edits(SCRIPT)]
    assert made == [
        *(("/", "*"), ("2", "3")),
        *(("!", ""), ("-", "+"), ("1", "2"), ("<", ">="), ("1e-4", "11e-4"), ("&&", "||")),
        *(("true", "false"), ("min", "max"), ("1", "2")),
    ]


def test_changes_are_of_every_kind_and_change_one_line() -> None:
    changes = choose(ROOT, 1, 90)
    assert changes == choose(ROOT, 1, 90) != choose(ROOT, 2, 90)
    assert {kind: 30 for kind in (OPERATOR, NAME, STEP)} == {
        kind: sum(one.kind == kind for one in changes) for kind in {one.kind for one in changes}
    }
    for change in changes:
        old = (ROOT / change.path).read_text("utf-8").splitlines()
        new = change.text.splitlines()
        pairs = zip(old, new, strict=True)
        assert [i for i, (a, b) in enumerate(pairs, 1) if a != b] == [change.line]
        if change.kind == NAME:
            json.loads(change.text)


def test_what_a_test_sees_is_caught_and_what_none_sees_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    script = tmp_path / FOLDER / "toy.js"
    script.write_text("const seen = a + b\nconst unseen = a < b\n")
    tests = tmp_path / "tests" / "site" / "instruments"
    tests.mkdir(parents=True)
    (tests / "test_every_instrument.py").write_text("def test_nothing():\n    pass\n")
    (tests / "test_toy.py").write_text(
        "import pathlib\n\ndef test_toy():\n"
        f"    text = pathlib.Path('{FOLDER.as_posix()}/toy.js').read_text()\n"
        "    assert text.startswith('const seen = a + b')\n"
    )
    graph = tmp_path / FOLDER / "graphs" / "toy.json"
    graph.parent.mkdir()
    graph.write_text('{"nodes":[\n["neg.default",["$0"],"scores"]\n]}\n')
    others = tmp_path / "tests" / "sitekit"  # pytest wants each folder taken down before the next
    others.mkdir()
    (others / "test_graphs.py").write_text(
        "import pathlib\n\n"
        "def test_recorded_graphs_are_what_the_library_exports_now():\n"
        f"    text = pathlib.Path('{FOLDER.as_posix()}/graphs/toy.json').read_text()\n"
        "    assert '\"scores\"' in text\n"
    )
    (tmp_path / "pyproject.toml").write_text("")
    before = script.read_text()
    assert drill(tmp_path, 1, 9) == 1
    said = capsys.readouterr()
    assert "all                                    2      3      2" in said.out
    assert "not caught: toy.js:2: step of an instrument: '<' → '>='" in said.out
    assert "then 3 changes in a copy" in said.err
    assert script.read_text() == before
    script.write_text("const seen = 1\n")
    with pytest.raises(SystemExit, match=r"do not hold as things are: .*test_toy"):
        drill(tmp_path, 1, 9)
