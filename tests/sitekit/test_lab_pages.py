"""Labs are executed when their results could change, and become pages like the others."""

import json
import re
from pathlib import Path

import pytest

import proseproof.lab_runner
from proseproof.lab_runner import outputs_file
from sitekit import lab_pages

LAB = """# ---
# description: A lab.
# ---

# %% [markdown]
# # 标题 {#title}
#
# Some prose.

# %%
import package.inner
{code}

# %% [markdown]
# ## 第二节 {{#second}}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("from package.deep import number\n")
    (package / "deep.py").write_text("number = 1\n")
    (package / "other.py").write_text("number = 2\n")
    return _write(tmp_path / "lab.py", "print(1)")


def _write(path: Path, code: str) -> Path:
    text = LAB.replace("{code}", code).replace("{{", "{").replace("}}", "}")
    path.write_text(text, encoding="utf-8")
    return path


def _key(lab: Path) -> str:
    cells = [c.source for c in lab_pages.read(lab).cells if c.cell_type == "code"]
    return outputs_file(lab.parent, cells).stem


def test_key_covers_what_the_lab_imports_through_others(lab: Path) -> None:
    before = _key(lab)
    (lab.parent / "src/package/deep.py").write_text("number = 3\n")
    assert _key(lab) != before


def test_key_leaves_out_what_the_lab_does_not_import(lab: Path) -> None:
    before = _key(lab)
    (lab.parent / "src/package/other.py").write_text("number = 3\n")
    assert _key(lab) == before


def test_key_covers_data_beside_what_the_lab_imports(lab: Path) -> None:
    before = _key(lab)
    (lab.parent / "src/package/deep.pt").write_bytes(b"weights")
    assert _key(lab) != before


def test_key_leaves_out_comments(lab: Path) -> None:
    before = _key(lab)
    _write(lab, "print(1)  # 一")
    assert _key(lab) == before


def test_key_covers_code_and_not_prose(lab: Path) -> None:
    before = _key(lab)
    lab.write_text(lab.read_text("utf-8").replace("Some prose", "Other prose"), "utf-8")
    assert _key(lab) == before
    _write(lab, "print(2)")
    assert _key(lab) != before


def test_key_covers_the_torch_version(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _key(lab)
    monkeypatch.setattr(proseproof.lab_runner, "version", lambda name: "0.0.0")
    assert _key(lab) != before


def _load(lab: Path, said: list[str]) -> lab_pages.Lab:
    return lab_pages.load(lab, lab.parent, said.append, "en")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A lab that needs nothing but Python."""
    path = tmp_path / "plain.py"
    path.write_text(LAB.replace("import package.inner\n", "").replace("{{", "{").replace("}}", "}"))
    return path


def _code(plain: Path, code: str) -> Path:
    plain.write_text(plain.read_text("utf-8").replace("{code}", code), "utf-8")
    return plain


def test_second_load_executes_nothing(plain: Path) -> None:
    _code(plain, "print('seen once')")
    said: list[str] = []
    first = _load(plain, said)
    second = _load(plain, said)
    assert len(said) == 1
    assert first == second
    assert "```text\nseen once\n```" in first.markdown
    assert "# 标题 {#title}" in first.markdown


def test_download_is_a_notebook_with_outputs_and_without_front_matter(plain: Path) -> None:
    notebook = json.loads(_load(_code(plain, "print('seen once')"), []).notebook)
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds == ["markdown", "code", "markdown"]
    assert notebook["cells"][1]["outputs"][0]["text"] == ["seen once\n"]


def test_raising_cell_names_its_line(plain: Path) -> None:
    _code(plain, "x = 1\nraise KeyError('lost')")
    with pytest.raises(lab_pages.LabError, match="KeyError: 'lost'") as caught:
        _load(plain, [])
    line = plain.read_text("utf-8").splitlines()[caught.value.line - 1]
    assert line == "raise KeyError('lost')"


def test_failed_lab_is_not_cached(plain: Path) -> None:
    _code(plain, "raise KeyError('lost')")
    for _ in range(2):
        said: list[str] = []
        with pytest.raises(lab_pages.LabError):
            _load(plain, said)
        assert len(said) == 1


def test_syntax_error_names_its_line(plain: Path) -> None:
    with pytest.raises(lab_pages.LabError, match="SyntaxError") as caught:
        _load(_code(plain, "x = 1\ny = ("), [])
    assert plain.read_text("utf-8").splitlines()[caught.value.line - 1] == "y = ("


def test_figure_without_words_is_refused(plain: Path) -> None:
    _code(plain, "from IPython.display import SVG\nSVG('<svg></svg>')")
    with pytest.raises(lab_pages.LabError, match="text alternative"):
        _load(plain, [])


@pytest.mark.parametrize(("width", "kind"), [("390", "plot"), ("700.5", "plot wide")])
def test_wide_figure_keeps_its_size(plain: Path, width: str, kind: str) -> None:
    svg = f'<svg role="img" aria-label="words" width="{width}"></svg>'
    _code(plain, f"from IPython.display import SVG\nSVG({svg!r})")
    (figure,) = _load(plain, []).figures
    assert figure.startswith(f'<figure class="{kind}" style="--width: {width}"><svg ')


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_figures_speak_the_pages_language(language: str) -> None:
    path = ROOT / "docs" / language / "labs" / "scaling.py"
    lab = lab_pages.load(path, ROOT, print, language)
    assert len(lab.figures) == 3
    for figure in lab.figures:
        label = re.search(r'aria-label="([^"]+)"', figure)
        assert label and bool(re.search(r"[\u4e00-\u9fff]", label[1])) == (language == "zh")


PAGE = """# A title {#title}

See [this](../other.md#part), `(2, 3)`{.text} and ![a figure](../../assets/a.svg).

<!--proseproof: gpu-->
```python
x = 1
print(x)
```

<!--pytest-codeblocks:expected-output-->
```text
1
```

```python title="src/headwise/x.py"
y = 2
```
"""


def test_page_becomes_a_notebook_whose_cells_are_its_blocks() -> None:
    text = lab_pages.for_readers(
        lab_pages.from_page(PAGE), "https://site.org/en/gpu/x.html", "https://github.com/a/b"
    )
    cells = json.loads(text)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code", "markdown"]
    first, install, block, last = ("".join(cell["source"]) for cell in cells)
    assert first == (
        "# A title\n\nSee [this](https://site.org/en/other.html#part), `(2, 3)` "
        "and ![a figure](https://site.org/assets/a.svg)."
    )
    assert "%pip install -q git+https://github.com/a/b" in install
    assert block == "x = 1\nprint(x)"
    assert last.startswith("```python title=") and "```text" not in last


def test_what_a_cell_prints_is_one_output_and_nothing_is_left_behind(plain: Path) -> None:
    code = "import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.3)"
    before = set(Path.cwd().iterdir())
    lab = _load(_code(plain, code), [])
    assert "```text\n0\n1\n2\n```" in lab.markdown
    assert set(Path.cwd().iterdir()) == before
