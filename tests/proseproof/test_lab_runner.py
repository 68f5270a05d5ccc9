"""Labs: their cells run once for both languages, and show what is recorded."""

import json

import pytest
from sample_site import Site

from proseproof import lab_runner, records

LAB = "# %% [markdown]\n# # Lab {{#lab}}\n# %%\n{}\n# %% [markdown]\n# `n == 1`\n"


def recorded(site: Site, code: str, *, front: str = "") -> Site:
    lab = front + LAB.format(code)
    site.pair(lab, lab, "labs/l.py")
    for command in ("update", "confirm"):
        assert site.run("proseproof", command).returncode == 0
    return site


def test_lab_is_run_once_for_both_languages(site: Site) -> None:
    code = f"open('{site.root}/runs', 'a').write('x')\nn = 1  # {{}}"
    zh, en = (LAB.format(code.format(word)) for word in ("一", "one"))
    site.pair(zh, en, "labs/l.py")
    for command in ("update", "confirm"):
        assert site.run("proseproof", command).returncode == 0
    assert site.run("pytest", "docs").returncode == 0
    assert (site.root / "runs").read_text() == "x"
    assert site.run("pytest", "--prove-again", "docs").returncode == 0
    assert (site.root / "runs").read_text() == "xx"
    site.pair(zh, en.replace("n == 1", "n == 2"), "labs/l.py")
    done = site.run("pytest", "docs")
    assert "docs/en/labs/l.py:7: `n == 2`" in done.stdout
    assert "docs/zh/labs/l.py:7: `n" not in done.stdout


def test_what_a_lab_shows_is_recorded_and_compared(site: Site) -> None:
    picture = "class Picture:\n    def _repr_svg_(self):\n        return '<svg a=\"{}\"/>'\n"
    code = f"print(1 / 3)\nn = 1\n# %%\n{picture}Picture()"
    recorded(site, code.format("0.25"))
    file = site.root / "docs/records/labs/l.json"
    assert "0.3333" in file.read_text()
    assert site.prove("docs/zh/labs/l.py") == site.prove("docs/en/labs/l.py") == []
    for old, new, line in (("0.3333", "0.3444", 3), ('a=\\"0.25', 'b=\\"0.25', 6)):
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        (finding,) = site.prove("docs/zh/labs/l.py")
        assert finding.line == line and "docs/records/labs/l.json" in finding.message
        assert finding.remedy == "python -m proseproof update" and finding.detail
        file.write_text(text)


def test_record_of_other_code_fails_until_it_is_made_anew(site: Site) -> None:
    recorded(site, "n = 1\nprint(n)")
    changed = LAB.format("n = 1\nprint(n + 1)")
    site.pair(changed, changed, "labs/l.py")
    (finding,) = site.prove("docs/zh/labs/l.py")
    assert "is of other code" in finding.message
    assert site.run("proseproof", "update").returncode == 0
    assert site.prove("docs/zh/labs/l.py") == []


def test_missing_or_damaged_record_fails(site: Site) -> None:
    file = recorded(site, "n = 1").root / "docs/records/labs/l.json"
    file.write_text(file.read_text()[:20])
    (finding,) = site.prove("docs/en/labs/l.py")
    assert "cannot be read" in finding.message
    file.unlink()
    (finding,) = site.prove("docs/en/labs/l.py")
    assert "there is no record docs/records/labs/l.json" in finding.message


def test_update_leaves_a_record_alone_that_differs_by_rounding(site: Site) -> None:
    file = recorded(site, "n = 1\nprint(0.33333)").root / "docs/records/labs/l.json"
    file.write_text(file.read_text().replace("0.33333", "0.33334"))
    before = file.read_text()
    assert site.run("proseproof", "update").returncode == 0
    assert file.read_text() == before


def test_lab_that_varies_is_held_to_the_kinds_of_its_outputs(site: Site) -> None:
    front = "# ---\n# varies: true\n# ---\n"
    recorded(site, "import time\nn = 1\nprint(time.perf_counter())", front=front)
    file = site.root / "docs/records/labs/l.json"
    data = json.loads(file.read_text())
    assert "processor" in data["made"]
    assert site.prove("docs/zh/labs/l.py") == []
    data["cells"][0]["outputs"] = []
    file.write_text(json.dumps(data))
    (finding,) = site.prove("docs/zh/labs/l.py")
    assert "other kinds" in finding.detail


def test_lab_may_show_whatever_a_notebook_can(site: Site) -> None:
    bundle = "({'image/svg+xml': '<svg/>', 'application/json': {'a': 1}}, {'width': 3})"
    code = (
        f"class Picture:\n    def _repr_mimebundle_(self, **_):\n        return {bundle}\nn = 1\n"
    )
    recorded(site, f"{code}Picture()")
    assert site.prove("docs/zh/labs/l.py") == []


def test_lab_that_fails_is_not_kept(site: Site) -> None:
    site.write("docs/labs/l.py", "# %%\n1 / 0\n")
    for _ in range(2):
        done = site.run("pytest", "docs/labs/l.py")
        assert "docs/labs/l.py:2: ZeroDivisionError" in done.stdout


def test_lab_leaves_torch_as_it_found_it(site: Site) -> None:
    lab = "# %%\nimport torch\nassert torch.get_default_dtype() == torch.float32\n"
    lab += "torch.set_default_dtype(torch.float64)\nn = 1\n# %% [markdown]\n# `n == 1`\n"
    for name in ("a", "b"):
        site.write(f"docs/labs/{name}.py", lab)
    for name in ("a", "b"):
        assert lab_runner.run_or_recall(site.proof(f"docs/labs/{name}.py")) == []


@pytest.mark.parametrize(("code", "name"), [("n = 1", "l.json"), ("n = 1 / 0", "l.txt")])
def test_lab_can_be_recorded_beside_the_repositorys_record(
    site: Site, code: str, name: str
) -> None:
    lab = LAB.format(code)
    site.pair(lab, lab, "labs/l.py")
    target = site.root / "out" / "l.json"
    site.run("proseproof", "update", "docs/zh/labs/l.py", "--record-to", str(target))
    assert [file.name for file in target.parent.iterdir()] == [name]
    assert not (site.root / "docs/records").exists()
    if name == "l.txt":
        text = target.with_suffix(".txt").read_text()
        assert text == "4\nZeroDivisionError: division by zero"
    else:
        record = records.read(target)
        assert record is not None and record.is_of([code])


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import torch\nx = torch.randn(3)", 3),
        ("import torch\nn = 1\n# %%\nx = torch.randn(3)\ntorch.manual_seed(0)", 7),
        ("import random\nx = random.random()", 3),
        ("import numpy\nx = numpy.random.rand()", 3),
        ("import torch\ntorch.manual_seed(0)\n# %%\nx = torch.randn(3)", None),
        ("import random\nrandom.seed(0)\nx = random.random()", None),
        ("import torch\nx = torch.randn(3, generator=torch.Generator().manual_seed(0))", None),
    ],
)
@pytest.mark.parametrize("front", ["", "# ---\n# varies: true\n# ---\n"])
def test_lab_draws_only_from_what_is_seeded(
    site: Site, code: str, line: int | None, front: str
) -> None:
    site.write("docs/labs/l.py", front + LAB.format(f"n = 1\n{code}"))
    findings = lab_runner.run_or_recall(site.proof("docs/labs/l.py"))
    assert [one.line - front.count("\n") for one in findings] == ([line] if line else [])
    assert all("nobody has seeded" in one.message for one in findings)


def test_sentence_that_draws_does_not_count_as_the_lab_drawing(site: Site) -> None:
    lab = LAB.format("import torch\nn = 1").replace("`n == 1`", "`torch.rand(3).max() < 1`")
    site.write("docs/labs/l.py", f"{lab}# %%\nn = 2\n")
    assert lab_runner.run_or_recall(site.proof("docs/labs/l.py")) == []


def test_lab_may_keep_files_between_its_cells_and_leaves_none(site: Site) -> None:
    lab = "# %%\nn = open('a.txt', 'w').write('a')\n# %%\nx = open('a.txt').read()\n"
    site.write("docs/labs/a.py", lab)
    site.write("docs/labs/b.py", "# %%\nimport os\nassert os.listdir() == []\n")
    for name in ("a", "b"):
        assert lab_runner.run_or_recall(site.proof(f"docs/labs/{name}.py")) == []
