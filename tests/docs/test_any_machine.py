"""Threads, vector units and matrix kernels change the last bits, and no page may hang on them.

The blocks that draw, say what is largest, or print how small a difference is, are proved as on
other machines, with the sentences about them. Labs are held to records that were made elsewhere,
so a run of the tests on any machine compares them.
"""

import os
import re
import subprocess
import sys

import pytest
from prose_lines import FILES, ROOT

HANGS = re.compile(
    r"proseproof: figure|argmax|argmin|argsort|topk|\.sort\(|sorted\(|(?<!soft)max\(|:\.\d?e\}"
)
PAGES = [path for path, text in FILES.items() if path.startswith("docs/en") and HANGS.search(text)]
PAGES = [path for path in PAGES if path.endswith(".md")]
MACHINES = {
    "one thread, AVX2": {
        "OMP_NUM_THREADS": "1",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
    },
    "four threads, no vector unit": {
        "OMP_NUM_THREADS": "4",
        "OMP_WAIT_POLICY": "PASSIVE",  # with fewer cores, threads would wait for each other busily
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
}
PROVE = """
import re
import sys
from pathlib import Path

from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.settings import Settings
from proseproof.shape_comments import Finder

settings = Settings.load(Path.cwd())
sys.meta_path.insert(0, Finder(settings.rewrite))
project = Project(settings)
hangs, *pages = sys.argv[1:]
proved = 0
for path in pages:
    proof = PageProof(project, path)
    for index, block in enumerate(proof.page.blocks):
        said = [block.code, *(span.text for span in proof.spans_for(index))]
        if block.figures or re.search(hangs, " ".join(said)):
            for finding in proof.block(index):
                print(finding)
            proved += 1
print(proved, "blocks ran")
"""


def test_there_are_pages_that_might_hang_on_rounding() -> None:
    assert len(PAGES) > 15


@pytest.mark.parametrize("machine", MACHINES)
def test_pages_hold_on_another_machine(machine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROVE, HANGS.pattern, *PAGES],
        cwd=ROOT,
        env=os.environ | MACHINES[machine],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *findings, ran = done.stdout.splitlines()
    assert "\n".join(findings) == ""
    assert int(ran.split()[0]) > len(PAGES)
