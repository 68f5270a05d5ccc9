"""A proof that held is kept until something that it depends on changes, and never longer."""

import importlib
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_site import Site

from proseproof import kept_proofs, lab_runner, names
from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.quoted_code import own_code
from proseproof.settings import Settings

PAGE = """
# Title

```python
import lib
data = open("{root}/data.txt").read()
open("{root}/runs", "a").write("x")
n = lib.value
```

Here `n > 0`, see `docs/note.txt` and `n_head`{{.text}}.

```python title="lib/deep.py"
--8<-- "lib/deep.py:function"
```
"""


@pytest.fixture
def kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A project with one page that imports, opens, quotes and names things, proved once."""
    monkeypatch.syspath_prepend(site.root)
    # Byte code is told by the second and the size of its source: too coarse for these changes.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept_proofs._environment.cache_clear()  # other tests may have changed it since it was asked for
    site.configure('rewrite = ["lib"]\n')
    site.write("lib/__init__.py", "from .deep import value\n")
    site.write("lib/deep.py", "value = 1\n\n\ndef function():\n    return 1\n")
    site.write("lib/other.py", "unused = 1\n")
    site.write("data.txt", "some\n")
    site.write("docs/note.txt", "there\n")
    site.write("docs/mentioned_words.toml", 'n_head = "the number of heads"\n')
    site.write("docs/x.md", PAGE.format(root=site.root))
    prove(site)
    return site


def prove(site: Site, again: bool = False, path: str = "docs/x.md") -> tuple[list[str], str]:
    """What a new run finds, and why it ran the page; nothing if it stands as proved before."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lib", "tool")]:
        del sys.modules[name]
    own_code.cache_clear()
    names._import_path.cache_clear()
    importlib.invalidate_caches()
    settings = Settings.load(site.root)
    assert settings is not None
    project = Project(settings, again=again)
    proof = PageProof(project, path)
    found = lab_runner.run_or_recall(proof) if proof.page.is_lab else proof.whole()
    return [str(finding) for finding in found], project.keeper.redone.get(path, "")


def runs(site: Site) -> int:
    return len((site.root / "runs").read_text())


def test_page_of_which_nothing_changed_is_not_run_and_still_reported(kept: Site) -> None:
    file = kept.root / ".cache/proseproof/report.json"
    reports = []
    for option in ("--prove-again", "-q"):
        done = kept.run("pytest", "docs", option)
        assert done.returncode == 0, done.stdout
        reports.append(file.read_bytes())
    assert "1 pages stand as proved before" in done.stdout
    assert runs(kept) == 2
    assert reports[0] == reports[1]


def test_prove_again_runs_everything(kept: Site) -> None:
    assert prove(kept, again=True) == ([], "asked for")
    assert runs(kept) == 2


def replace(path: str, old: str, new: str) -> Callable[[Site], None]:
    def change(site: Site) -> None:
        file = site.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    change.__name__ = f"{path}: {old} -> {new}"
    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (replace("docs/x.md", "n > 0", "n < 9"), "the page changed"),
        (replace("docs/x.md", "n = lib.value", "n = lib.value + 1"), "the page changed"),
        (replace("lib/deep.py", "value = 1", "value = 2"), "lib/deep.py changed"),
        (replace("lib/deep.py", "return 1", "return 2"), "what it quotes changed"),
        (replace("data.txt", "some", "other"), "data.txt changed"),
        (replace("pyproject.toml", "rewrite =", 'homes = ["math"]\nrewrite ='), "the settings"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_whatever_a_page_depends_on_brings_the_proof_back(
    kept: Site, change: Callable[[Site], None], why: str
) -> None:
    change(kept)
    found, said = prove(kept)
    assert found == [] and said.startswith(why)
    assert runs(kept) == 2
    assert prove(kept) == ([], "")
    assert runs(kept) == 2


@pytest.mark.parametrize(
    "change",
    [
        replace("docs/x.md", "Here", "A sentence more. Here"),
        replace("lib/other.py", "1", "2"),
    ],
    ids=["prose", "a module that is not imported"],
)
def test_what_a_proof_does_not_depend_on_runs_nothing(
    kept: Site, change: Callable[[Site], None]
) -> None:
    change(kept)
    assert prove(kept) == ([], "")
    assert runs(kept) == 1


def test_mention_whose_word_left_the_list_is_judged_again(kept: Site) -> None:
    replace("docs/mentioned_words.toml", "n_head", "n_heads")(kept)
    found, said = prove(kept)
    assert said == "what it mentions changed"
    assert len(found) == 1 and "`n_head` (text)" in found[0]


def test_lines_that_moved_are_reported_where_they_are(kept: Site) -> None:
    replace("docs/x.md", "# Title", "# Title\n\nA paragraph.")(kept)
    proof = kept.proof("docs/x.md")
    assert proof.whole() == []
    assert runs(kept) == 1
    page, lines = proof.entry, kept.root.joinpath("docs/x.md").read_text().splitlines()
    assert len(page.claims) == 3
    for claim in page.claims:
        assert f"`{claim.span}`" in lines[claim.line - 1]
    assert lines[page.blocks[0].line - 1] == "```python"


def test_file_that_a_sentence_names_is_looked_for_each_time(kept: Site) -> None:
    (kept.root / "docs/note.txt").unlink()
    (found,), _ = prove(kept)
    assert found.startswith("docs/x.md:10: `docs/note.txt` (path): there is no such file")


def _cache(site: Site) -> Path:
    (file,) = (site.root / ".cache/proseproof/kept").iterdir()
    return file


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("holds", "fails", 1),
        lambda text: "\x00" * 10,
    ],
    ids=["truncated", "empty", "another verdict", "garbage"],
)
def test_damaged_file_is_proved_anew_and_said(kept: Site, damage: Callable[[str], str]) -> None:
    _cache(kept).write_text(damage(_cache(kept).read_text()))
    found, said = prove(kept)
    assert found == [] and said.endswith("was damaged")
    assert runs(kept) == 2
    assert prove(kept) == ([], "")


def test_file_that_is_no_text_is_proved_anew(kept: Site) -> None:
    _cache(kept).write_bytes(b"\xff\xfe\xff")
    assert prove(kept)[1].endswith("was damaged")


def test_failed_page_is_not_kept(kept: Site) -> None:
    replace("lib/deep.py", "value = 1", "value = -1")(kept)
    for _ in range(2):
        assert "`n > 0` (comparison): it is false" in prove(kept)[0][0]
    assert runs(kept) == 3


def test_block_that_starts_a_process_is_run_each_time(kept: Site) -> None:
    replace("docs/x.md", "import lib", "import subprocess\nimport lib")(kept)
    prove(kept)
    prove(kept)
    assert runs(kept) == 3


def test_run_that_is_killed_leaves_nothing_half_done(kept: Site) -> None:
    replace(
        "docs/x.md",
        "import lib",
        f"import time\nopen('{kept.root}/begun', 'w')\ntime.sleep(60)\nimport lib",
    )(kept)
    process = kept.start("pytest", "docs", "-q")
    for _ in range(600):  # until it is in the middle of the block
        if (kept.root / "begun").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    replace("docs/x.md", "time.sleep(60)", "time.sleep(0)")(kept)
    assert prove(kept) == ([], "the page changed")
    assert runs(kept) == 2


def test_two_runs_at_once_both_end_right(kept: Site) -> None:
    replace("lib/deep.py", "value = 1", "value = 2")(kept)
    both = [kept.start("pytest", "docs", "-q") for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert "1 pages stand as proved before" in kept.run("pytest", "docs", "-q").stdout


def test_another_machine_proves_for_itself(kept: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_proofs._environment.cache_clear()
    prove(kept)
    before = runs(kept)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("ATEN_CPU_CAPABILITY", "default")
        kept_proofs._environment.cache_clear()
        assert prove(kept) == ([], "not proved before")
    kept_proofs._environment.cache_clear()
    assert prove(kept) == ([], "")
    assert runs(kept) == before + 1


LAB = """
# %%
import lib
width = lib.value
# %% [markdown]
# Here `width == 1`, see `docs/note.txt`, `lib.deep.function`, `tool.run`, `make all`
# and `len(open("{root}/data.txt").read()) == 5`.
"""


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (replace("lib/deep.py", "value = 1", "value = 5"), "`width == 1` (comparison)"),
        (lambda site: (site.root / "docs/note.txt").unlink(), "`docs/note.txt` (path)"),
        (replace("lib/deep.py", "def function", "def other"), "`lib.deep.function` (name)"),
        (replace("tool.py", "def run", "def walk"), "`tool.run` (name)"),
        (replace("Makefile", "all:", "some:"), "`make all`"),
        (replace("data.txt", "some", "none at all"), "data.txt"),
    ],
    ids=["relative import", "file", "name", "name of another module", "command", "opened file"],
)
def test_lab_is_judged_anew_when_what_it_speaks_of_has_changed(
    kept: Site, change: Callable[[Site], None], word: str
) -> None:
    kept.write("Makefile", "all:\n\techo\n")
    kept.write("tool.py", "def run():\n    return 1\n")
    kept.write("docs/labs/l.py", LAB.format(root=kept.root))
    assert prove(kept, path="docs/labs/l.py")[0] == []
    assert prove(kept, path="docs/labs/l.py") == ([], "")
    change(kept)
    (found,) = prove(kept, path="docs/labs/l.py")[0]
    assert found.startswith("docs/labs/l.py:") and word in found
