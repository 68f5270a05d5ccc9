"""Both wheels, built from a copy of the sources and installed where nothing else is.

An empty environment sees the wheel and what its metadata asks for, nothing more: those packages are
linked from the running environment, one by one, and pip, without an index, has to find every
requirement among them. So nothing is downloaded, and nothing that is not asked for can help.

Tests with parameters are spread over the workers, each of which would build it all again: so what
is to be tried in several ways is, here, within one test.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import headwise

ROOT = Path(__file__).parents[1]
BUILT = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command that sees nothing of this process's Python."""
    ours = ("PYTHON", "PIP_", "PYTEST_", "COV_", "GITHUB_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)


def pip(*arguments: str | Path, python: str | Path = sys.executable) -> str:
    """What pip says, working on the environment of `python`."""
    quiet = ("--isolated", "--disable-pip-version-check")
    done = run(sys.executable, "-m", "pip", "--python", python, *quiet, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Wheel:
    """A wheel: its files, and what its metadata says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.files = archive.namelist()
            self.info = next(name for name in self.files if name.endswith("/METADATA"))[:-8]
            self.metadata: Message = Parser().parsestr(
                archive.read(self.info + "METADATA").decode()
            )
            entry = self.info + "entry_points.txt"
            self.entry_points = archive.read(entry).decode() if entry in self.files else ""

    @property
    def contents(self) -> set[str]:
        """Everything but the metadata."""
        return {name for name in self.files if not name.startswith(self.info)}

    @property
    def requirements(self) -> list[Requirement]:
        """What installing it asks for, extras included."""
        return [Requirement(line) for line in self.metadata.get_all("Requires-Dist") or []]


def needed(requirements: list[Requirement]) -> set[str]:
    """The names of the packages that these requirements bring along, and those bring in turn."""
    found: set[str] = set()
    for one in requirements:
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            asked = importlib.metadata.requires(name) or []
            found |= {name} | needed([Requirement(line) for line in asked])
    return found


def expose(folder: Path, names: set[str]) -> None:
    """Link the files of these installed packages, and of no others, into a folder."""
    folder.mkdir()
    for name in names:
        package = importlib.metadata.distribution(name)
        tops = {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}
        for top in tops:
            if not (folder / top).exists():  # packages may share a namespace
                (folder / top).symlink_to(Path(str(package.locate_file(top))).resolve())


class Place:
    """An empty environment with a wheel installed in it."""

    def __init__(self, folder: Path, wheel: Wheel, also: str = "") -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        self.names = needed([*wheel.requirements, *([Requirement(also)] if also else [])])
        expose(folder / "exposed", self.names)
        packages = next((folder / "lib").glob("python*/site-packages"))
        (packages / "exposed.pth").write_text(str(folder / "exposed"), encoding="utf-8")
        pip("install", "--no-index", wheel.path, python=self.python)

    def run(self, code: str) -> str:
        """What this code prints here."""
        done = run(self.python, "-c", textwrap.dedent(code))
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def installed(self) -> set[str]:
        """Everything that pip lists."""
        listed = json.loads(pip("list", "--format=json", python=self.python))
        return {canonicalize_name(one["name"]) for one in listed}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Wheel]:
    """Both wheels by name, built from a copy so that nothing is left in the sources."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=BUILT)
    out = copy / "wheels"
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", out)
    pip("wheel", *options, copy, copy / "src" / "proseproof")
    return {file.name.partition("-")[0]: Wheel(file) for file in out.glob("*.whl")}


@pytest.fixture(scope="module")
def with_headwise(wheels: dict[str, Wheel], tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("headwise") / "venv", wheels["headwise"])


@pytest.fixture(scope="module")
def with_proseproof(wheels: dict[str, Wheel], tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("proseproof") / "venv", wheels["proseproof"], "numpy")


def test_there_are_two_wheels(wheels: dict[str, Wheel]) -> None:
    assert set(wheels) == {"headwise", "proseproof"}


def test_wheel_holds_its_package_whole_and_nothing_else(wheels: dict[str, Wheel]) -> None:
    source, kinds = ROOT / "src", {".py", ".pt", ".json", ".typed"}
    for name, wheel in wheels.items():
        files = [file for file in (source / name).rglob("*") if file.suffix in kinds]
        assert wheel.contents == {file.relative_to(source).as_posix() for file in files}
        assert any(file.endswith("/LICENSE") for file in wheel.files)


def test_headwise_asks_for_torch_alone(wheels: dict[str, Wheel]) -> None:
    asked = {str(one) for one in wheels["headwise"].requirements}
    assert asked == {
        "torch",
        'matplotlib; extra == "drawing"',
        'safetensors; extra == "models"',
        'triton; sys_platform == "linux" and extra == "kernels"',
    }
    assert wheels["headwise"].entry_points == ""


def test_proseproof_asks_for_pytest_codeblocks_and_yaml(wheels: dict[str, Wheel]) -> None:
    asked = {canonicalize_name(one.name) for one in wheels["proseproof"].requirements}
    assert asked == {"pytest", "pytest-codeblocks", "pyyaml"}
    points = wheels["proseproof"].entry_points.split()
    assert points == ["[pytest11]", "proseproof", "=", "proseproof.pytest_plugin"]


def test_headwise_brings_torch_along_and_nothing_else(with_headwise: Place) -> None:
    assert with_headwise.installed == with_headwise.names | {"headwise"}
    assert "torch" in with_headwise.names
    assert not with_headwise.names & {"matplotlib", "numpy", "pytest", "proseproof"}


def test_headwise_says_what_plots_and_kernels_need_and_needs_nothing_else(
    with_headwise: Place,
) -> None:
    said = with_headwise.run("""
        import importlib, pkgutil
        import headwise

        for module in pkgutil.walk_packages(headwise.__path__, "headwise."):
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                print(module.name, error)
    """)
    missing = dict(line.split(" ", 1) for line in said.splitlines())
    assert "headwise.drawing.plot" in missing and "headwise.drawing.diagrams" not in missing
    needs = {
        "headwise.drawing.": 'plots need matplotlib: pip install "headwise[drawing]"',
        "headwise.kernels": 'kernels need Triton, on Linux: pip install "headwise[kernels]"',
    }
    if "triton" in with_headwise.names:  # a PyTorch for CUDA brings it along
        del needs["headwise.kernels"]
    for name, sentence in missing.items():
        assert sentence in [needs[part] for part in needs if name.startswith(part)], name
    assert set(missing.values()) == set(needs.values())


USE = """
    import torch
    from headwise import *

    x = torch.randn(2, 5, 16)
    mha = MultiHeadAttention(d_model=16, num_heads=4)
    out, weights = mha(x, need_weights=True)
    step = mha(x[:, :1], cache=KeyValueCache())
    print(*out.shape, *weights.shape, *step.shape)
    heads = split_heads(x, 4)
    print(torch.equal(merge_heads(heads), x))
    print(torch.equal(unfold_heads(fold_heads(x, 4), 4), x))
    mask = combine(causal_mask(5), padding_mask(torch.tensor([5, 3]), 5))
    print(bool(fused_attention(heads, heads, heads, mask=mask).isfinite().all()))
    print(LinearHead(16)(x)[0].shape == ParameterHead(16)(x)[0].shape == x.shape)
"""


def test_every_public_name_of_headwise_works(with_headwise: Place) -> None:
    assert [name for name in headwise.__all__ if name not in USE] == []
    assert with_headwise.run(USE).split("\n") == ["2 5 16 2 4 5 5 2 1 16", *["True"] * 4, ""]


def test_translator_comes_with_its_weights(with_headwise: Place) -> None:
    said = with_headwise.run("""
        from headwise.models.translator import translate

        print(translate(["二百三十五"]))
    """)
    assert said == "['two hundred thirty five']\n"


PROJECT = {
    "pyproject.toml": """
        [project]
        name = "means"

        [tool.proseproof]
        pages = ["README.md", "docs"]
        rewrite = ["means"]
        """,
    "means.py": """
        import numpy as np


        def means(table):
            \"\"\"The mean of each column.\"\"\"
            found = table.mean(axis=0)  # (columns,)
            return found
        """,
    "docs/right.md": """
        # Means

        ```python
        import numpy as np

        from means import means

        table = np.arange(6.0).reshape(2, 3)  # (2, 3)
        print(means(table))
        ```

        <!--pytest-codeblocks:expected-output-->

        ```text
        [1.5 2.5 3.5]
        ```

        The table has shape `(2, 3)`, `table.sum() == 15`, and
        `axis=0`{of="table.mean(_)[0] == 1.5"} goes down the columns.
        """,
}


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A project that has nothing to do with us: NumPy, one language, no lock."""
    for name, text in PROJECT.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return tmp_path


def test_proseproof_brings_pytest_along_and_nothing_else(with_proseproof: Place) -> None:
    assert with_proseproof.installed == with_proseproof.names | {"proseproof"}
    assert not with_proseproof.names & {"torch", "matplotlib", "headwise", "mkdocs"}


def test_right_page_of_a_foreign_project_is_proved(with_proseproof: Place, foreign: Path) -> None:
    done = run(with_proseproof.python, "-m", "pytest", "-v", cwd=foreign)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proseproof: 2 shown, 2 accounted for; 3 claims hold" in done.stdout


WRONG = [
    ("[1.5 2.5 3.5]", "[1.5 2.5 3.6]", 14),
    ("shape `(2, 3)`", "shape `(3, 2)`", 18),
    ("table.sum() == 15", "table.sum() == 16", 18),
    ("`axis=0`", "`axis=1`", 19),
    ("  # (2, 3)", "  # (3, 2)", 8),
    ("from means import means", "from means import mean", 6),
]


def test_wrong_page_of_a_foreign_project_fails_with_file_and_line(
    with_proseproof: Place, foreign: Path
) -> None:
    text = (foreign / "docs/right.md").read_text(encoding="utf-8")
    for number, (right, wrong, _) in enumerate(WRONG):
        assert right in text
        page = foreign / f"docs/wrong{number}.md"
        page.write_text(text.replace(right, wrong), encoding="utf-8")
    done = run(with_proseproof.python, "-m", "pytest", cwd=foreign)
    assert done.returncode == 1, done.stdout + done.stderr
    for number, (*_, line) in enumerate(WRONG):
        assert set(re.findall(rf"^docs/wrong{number}\.md:(\d+): ", done.stdout, re.M)) == {
            str(line)
        }
    assert "docs/right.md:" not in done.stdout


COMMANDS = {
    "report": "not proved yet",
    "update": "",
    "confirm": "0 sections recorded",
    "drill --count 6 --workers 1": "caught by:",
    "--help": "update",
}


def test_commands_work_without_torch(with_proseproof: Place, foreign: Path) -> None:
    for command, said in COMMANDS.items():
        done = run(with_proseproof.python, "-m", "proseproof", *command.split(), cwd=foreign)
        assert said in done.stdout and "Traceback" not in done.stderr, done.stdout + done.stderr
