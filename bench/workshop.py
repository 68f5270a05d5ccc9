"""What it costs to work here: the first page, a build, a whole test run and one after an edit.

python bench/workshop.py measures a clean clone of the last commit, with this environment, prints a
table and keeps it in bench/results/workshop.json. It takes about as long as two test runs.
"""

from __future__ import annotations

import filecmp
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
BARS = {
    "first page of make serve": 15,
    "mkdocs build --strict": 20,
    "make test, cold": 12 * 60,
    "make test, warm": 5 * 60,
    "make check after an edit to a page": 20,
}


def say(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def clone(folder: Path) -> dict[str, str]:
    """A clean clone that uses this environment, and what its commands need to be told."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    for name in ("requirements.txt", "pyproject.toml"):
        os.utime(folder / name, (0, 0))  # the environment is ready: nothing is to be installed
    source = {"PYTHONPATH": str(folder / "src"), "NO_MKDOCS_2_WARNING": "1"}
    return {name: value for name, value in os.environ.items() if name != "CI"} | source


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    say(" ".join(command))
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    said = [line for line in done.stdout.splitlines() if "passed" in line or "proseproof:" in line]
    for line in said:
        say(line.strip("= "))
    return time.perf_counter() - start


def first_page(folder: Path, environment: dict[str, str]) -> float:
    """Seconds from the command to the first page."""
    say("mkdocs serve")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = time.perf_counter()
    command = [".venv/bin/mkdocs", "serve", "-q", "-a", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
                return time.perf_counter() - start
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
    finally:
        server.terminate()
        server.wait()


def cost_of_proofs(folder: Path, environment: dict[str, str]) -> float:
    """The processor's time for the proofs of all pages, per that of pytest-codeblocks alone."""
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "CONTRIBUTING.md", "docs/*.md"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    spent = []
    for options in (["--prove-again"], ["-p", "no:proseproof"]):
        command = [".venv/bin/pytest", "-q", "--codeblocks", *options, *listed.stdout.split()]
        say(" ".join(command[:5]) + " …")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        # Alone, pytest-codeblocks fails where a page shows an error or rounds a float.
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        spent.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return spent[0] / spent[1]


def same(one: Path, two: Path) -> bool:
    """True when two folders hold the same files, byte for byte."""
    names = [
        sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        for folder in (one, two)
    ]
    return names[0] == names[1] and not any(filecmp.cmpfiles(one, two, names[0], shallow=False)[1:])


def main() -> None:
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "clone"
        environment = clone(folder)
        times["first page of make serve"] = first_page(folder, environment)
        build = [".venv/bin/mkdocs", "build", "--strict", "-q", "-d"]
        times["mkdocs build --strict"] = timed([*build, f"{name}/one"], folder, environment)
        timed([*build, f"{name}/two"], folder, environment | {"OMP_NUM_THREADS": "1"})
        equal = same(Path(name, "one"), Path(name, "two"))
        ratio = cost_of_proofs(folder, environment)
        shutil.rmtree(folder / ".cache", ignore_errors=True)
        times["make test, cold"] = timed(["make", "test"], folder, environment)
        times["make test, warm"] = timed(["make", "test"], folder, environment)
        for language in ("zh", "en"):
            page = folder / "docs" / language / "chapters" / "masks.md"
            page.write_text(page.read_text("utf-8").replace("\n\n", "\n\n\n", 3), encoding="utf-8")
        times["make check after an edit to a page"] = timed(["make", "check"], folder, environment)
    target = ROOT / "bench" / "results" / "workshop.json"
    results = {**times, "two builds are the same": equal, "proofs per plain run": ratio}
    target.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"| {os.cpu_count()} cores | seconds | bar | of the bar |\n|---|---|---|---|")
    for what, bar in BARS.items():
        print(f"| {what} | {times[what]:.0f} | {bar} | {times[what] / bar:.2f} |")
    print(f"\nProofs cost {ratio:.2f} times pytest-codeblocks alone; the bar is 1.5.")
    print(f"Two builds, the second with one thread, are {'the same' if equal else 'DIFFERENT'}.")


if __name__ == "__main__":
    main()
