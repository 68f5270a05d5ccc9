"""Labs in two languages: one run, and the cells that speak run once more."""

import json

import pytest
from sample_site import Site

from proseproof import lab_runner, records

HEAD = "# %% [markdown]\n# # Lab {#lab}\n# %%\n"


def pair(site: Site, zh: str, en: str) -> None:
    site.pair(HEAD + zh, HEAD + en, "labs/l.py")


def shown(site: Site) -> dict[str, list[str]]:
    """What the cells print, by language, from the record."""
    assert site.run("proseproof", "update").returncode == 0
    file = site.root / "docs/records/labs/l.json"
    found = {}
    for language in ("zh", "en"):
        record = records.read(file, language)
        assert record is not None
        found[language] = [
            "".join(one.get("text", "drawn") for one in cell.outputs) for cell in record.cells
        ]
    return found


def test_lab_speaks_both_languages_and_computes_once(site: Site) -> None:
    computed = f"open('{site.root}/runs', 'a').write('x')\nn = 3\n# %%\n"
    pair(site, computed + 'print(f"共 {n} 个")\n', computed + 'print(f"{n} in all")\n')
    assert shown(site) == {"zh": ["", "共 3 个\n"], "en": ["", "3 in all\n"]}
    assert (site.root / "runs").read_text() == "x"
    assert site.run("proseproof", "confirm").returncode == 0
    assert site.run("pytest", "docs").returncode == 0
    assert (site.root / "runs").read_text() == "x"
    stored = json.loads((site.root / "docs/records/labs/l.json").read_text())
    assert [len(cells) for cells in stored["translated"].values()] == [1]


def test_record_of_other_words_fails_in_their_language(site: Site) -> None:
    pair(site, 'n = 1\nprint("一")\n', 'n = 1\nprint("one")\n')
    shown(site)
    pair(site, 'n = 1\nprint("一")\n', 'n = 1\nprint("only one")\n')
    assert lab_runner.cells(site.proof("docs/zh/labs/l.py")) == []
    (finding,) = lab_runner.cells(site.proof("docs/en/labs/l.py"))
    assert "is of other code" in finding.message


def test_words_that_a_name_holds_go_where_it_goes(site: Site) -> None:
    cells = (
        'word = "{}"\n# %%\ndef say():\n    print(word)\n# %%\nsay()\n# %%\nword = 1\n# %%\nsay()\n'
    )
    pair(site, cells.format("字"), cells.format("word"))
    assert shown(site) == {"zh": ["", "", "字\n", "", "1\n"], "en": ["", "", "word\n", "", "1\n"]}


def test_docstrings_and_functions_beside_words_make_no_second_run(site: Site) -> None:
    lab = (
        'def grow():\n    """{}"""\n    open("{}/runs", "a").write("x")\n\n\n'
        'total = sum([1, 2])\nprint("{}")\n# %%\ngrow()\nprint(total)\n'
    )
    zh, en = (lab.format(doc, site.root, said) for doc, said in (("长", "好"), ("more", "well")))
    pair(site, zh, en)
    assert shown(site) == {"zh": ["好\n", "3\n"], "en": ["well\n", "3\n"]}
    assert (site.root / "runs").read_text() == "x"


def test_second_run_draws_the_same_numbers(site: Site) -> None:
    lab = 'import torch\ntorch.manual_seed(0)\n# %%\nx = torch.rand(2)\nprint("{}", x)\n# %%\n'
    lab += "print(x, torch.rand(1))\n"
    pair(site, lab.format("数"), lab.format("numbers"))
    found = shown(site)
    assert found["zh"][1].split()[1:] == found["en"][1].split()[1:]
    assert found["zh"][2] == found["en"][2]


@pytest.mark.parametrize(
    ("before", "cell", "why"),
    [
        ("all = []", 'all.append(1)\nprint("{}")', "changes all"),
        ("import torch\nx = torch.zeros(2)", 'x += 1\nprint("{}")', "changes x"),
        (
            "import torch\ntorch.manual_seed(0)\nm = torch.nn.Linear(1, 1)",
            'torch.nn.init.zeros_(m.weight)\nprint("{}")',
            "changes m",
        ),
        (
            "from types import SimpleNamespace as S\ns = S(n=1)",
            's.n += 1\nprint("{}")',
            "changes s",
        ),
        ("import time", 'print("{}", time.perf_counter())', "prints other numbers"),
        ("n = 1", 'print("{}")\nassert "{}" == "字"', "AssertionError"),
    ],
)
def test_cell_that_cannot_run_twice_is_found(site: Site, before: str, cell: str, why: str) -> None:
    lab = f"{before}\n# %%\n{cell}\n"
    pair(site, lab.replace("{}", "字"), lab.replace("{}", "word"))
    (finding,) = lab_runner.run_or_recall(site.proof("docs/zh/labs/l.py"))
    assert why in finding.message
    assert finding.path == "docs/en/labs/l.py"


@pytest.mark.parametrize(("letters", "wrong"), [(4, 0), (5, 1)])
def test_sentences_are_judged_in_their_own_language(site: Site, letters: int, wrong: int) -> None:
    lab = 'word = "{}"\nn = len(word)\n# %%\nm = n\n# %% [markdown]\n# `m == {}`\n'
    pair(site, lab.format("字", 1), lab.format("word", letters))
    proof = site.proof("docs/zh/labs/l.py")
    assert lab_runner.run_or_recall(proof) == []
    assert proof.twin is not None and len(proof.twin.entry.findings) == wrong


def test_other_programs_do_not_run_along(site: Site) -> None:
    pair(site, "n = 1\n", "n = 2\n")
    proof = site.proof("docs/zh/labs/l.py")
    assert lab_runner.run_or_recall(proof) == [] and proof.twin is None
