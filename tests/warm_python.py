"""A Python that has loaded what is needed, and forks into whatever module it is to run.

Most of what a small run of pytest or mkdocs takes is loading them: a fork has them at once, and is
in all else a process of its own. From their beginning they run in tests/test_wheels.py, and when
the site is built.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, os, runpy, sys

exec(sys.argv[1])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
folder, environ, streams, sys.argv = json.loads(line)
os.chdir(folder)
os.environ.clear()
os.environ.update(environ)
for number, name in enumerate([os.devnull, *streams]):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
sys.stdin = open(0)
sys.path[0] = folder  # as python -m has it
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@functools.cache
def _warm(loading: str) -> subprocess.Popen[str]:
    warm = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, loading],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(warm.communicate)  # which ends it
    return warm


def run(
    loading: str, folder: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """`python -m` with these arguments, run to its end in a folder, after `loading`."""
    warm = _warm(loading)
    assert warm.stdin is not None and warm.stdout is not None
    with tempfile.TemporaryDirectory() as kept:
        streams = [os.path.join(kept, name) for name in ("stdout", "stderr")]
        warm.stdin.write(json.dumps([str(folder), environ, streams, arguments]) + "\n")
        warm.stdin.flush()
        status = int(warm.stdout.readline())
        said = [Path(name).read_text(encoding="utf-8") for name in streams]
    return subprocess.CompletedProcess(arguments, status, *said)
