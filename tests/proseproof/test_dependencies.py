"""A program depends on what it imports, through others too, and on what it opens."""

from pathlib import Path

import pytest

from proseproof import dependencies


@pytest.fixture
def root(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "package"
    (package / "room").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "inner.py": "from package.deep import number\n",
        "deep.py": "from .room import chair\nnumber = 1\n",
        "deep.pt": "",
        "other.py": "number = 2\n",
        "room/__init__.py": "from . import chair\n",
        "room/chair.py": "from ..leg import four\n",
        "leg.py": "four = 4\n",
    }.items():
        (package / name).write_text(text)
    (tmp_path / "top.py").write_text("import package.other\n")
    return tmp_path


def names(code: str, root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in dependencies.sources([code], root)}


DEEP = {"src/package/" + name for name in ("__init__.py", "inner.py", "deep.py", "deep.pt")} | {
    "src/package/room/__init__.py",
    "src/package/room/chair.py",
    "src/package/leg.py",
}


@pytest.mark.parametrize(
    "code",
    ["import package.inner", "from package import inner", "from package.inner import number"],
)
def test_imports_are_followed_with_their_data(root: Path, code: str) -> None:
    assert names(code, root) == DEEP


def test_modules_at_the_root_count_too(root: Path) -> None:
    assert names("import top", root) == {
        "top.py",
        "src/package/__init__.py",
        "src/package/other.py",
    }


def test_what_is_installed_is_not_the_projects(root: Path) -> None:
    assert names("import json, os.path\nfrom torch import nn", root) == set()


def test_change_of_an_import_is_seen(root: Path) -> None:
    assert "src/package/other.py" not in names("import package.inner", root)
    (root / "src/package/leg.py").write_text("import package.other\n\n")
    assert "src/package/other.py" in names("import package.inner", root)


def test_files_that_are_read_are_noted_and_those_written_are_not(root: Path) -> None:
    (root / "data.txt").write_text("1")
    with dependencies.opened() as files:
        (root / "data.txt").read_text()
        (root / "out.txt").write_text("2")
        (root / ".cache").mkdir()
        (root / ".cache" / "x").write_text("3")
        (root / ".cache" / "x").read_text()
    assert dependencies.of_project(files, root) == {root / "data.txt"}
    (root / "top.py").read_text()
    assert str(root / "top.py") not in files
