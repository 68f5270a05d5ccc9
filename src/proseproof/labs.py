"""Labs are run once: the verdict on an unchanged lab is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from proseproof import shapes
from proseproof.finding import Finding
from proseproof.proof import PageProof
from proseproof.report import BlockEntry, ClaimEntry, versions
from proseproof.settings import source_files


def key(proof: PageProof) -> str:
    """A hash of everything that the verdict depends on."""
    parts = [proof.page.path, proof.page.text, json.dumps(versions(), sort_keys=True)]
    files = sorted(Path(__file__).parent.rglob("*.py"))
    for name in proof.settings.rewrite:
        files += source_files(proof.settings.root, name)
    parts += [file.name + file.read_text(encoding="utf-8") for file in files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def cached(proof: PageProof) -> list[Finding]:
    """The lab's findings; a lab that held before, and of which nothing changed, is not run."""
    settings = proof.settings
    file = (settings.root / settings.report).parent / "labs" / f"{key(proof)}.json"
    if file.is_file():
        data = json.loads(file.read_text(encoding="utf-8"))
        proof.entry.blocks += [BlockEntry(**one) for one in data["blocks"]]
        proof.entry.claims += [ClaimEntry(**one) for one in data["claims"]]
        proof.shown = data["shown"]
        for path, line in data["ran"]:
            if (path, line) in shapes.registry:
                shapes.registry[path, line].ran = True
        return proof.recorded()
    findings = proof.lab()
    if not findings:
        data = {
            "blocks": [asdict(one) for one in proof.entry.blocks],
            "claims": [asdict(one) for one in proof.entry.claims],
            "shown": proof.shown,
            "ran": [place for place, comment in shapes.registry.items() if comment.ran],
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return [*findings, *proof.recorded()]
