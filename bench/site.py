"""What the site costs readers and authors: weight, Lighthouse, instruments, builds, proofs.

python bench/site.py prints a table and keeps it in bench/results/site.json. Lighthouse is installed
below .cache with npm, once.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import instruments
from sitekit import chromium_for_tests
from sitekit.static_host import serving

ROOT = Path(__file__).parents[1]
LIGHTHOUSE = "13.5.0"
PAGES = {
    "home": "en/index.html",
    "prose": "en/chapters/attention.html",
    "lab": "en/labs/scaling.html",
}
SCORES = ("performance", "accessibility", "best-practices", "seo")
RUNS = 3


def say(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def build(root: Path, folder: Path, address: str = "http://127.0.0.1/") -> float:
    """Seconds for one build in a process of its own."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "SITE_URL": address},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - start


REBUILD = """
import sys, time
from pathlib import Path
from mkdocs.commands.build import build
from mkdocs.config import load_config

page, folder, times = Path("docs/en/index.md"), sys.argv[1], []
for run in range(int(sys.argv[2]) + 1):
    start = time.perf_counter()
    config = load_config(site_dir=folder)
    config.plugins.on_startup(command="serve", dirty=False)
    build(config)
    times.append(time.perf_counter() - start)
    page.write_text(page.read_text("utf-8") + f"\\nEdit {run}.\\n", encoding="utf-8")
print(*times[1:])
"""


def builds() -> dict[str, float]:
    """On a copy of the tree: a cold build; a warm one; and the rebuild that `make serve` does.

    Both warm ones follow an edit to one page. The rebuild happens in the server's own process.
    """
    with tempfile.TemporaryDirectory() as name:
        copy, folder = Path(name) / "copy", Path(name) / "site"
        ignore = shutil.ignore_patterns(".venv", ".cache", "site", ".git", "node_modules")
        shutil.copytree(ROOT, copy, ignore=ignore)
        page = copy / "docs" / "en" / "index.md"
        say("cold build")
        cold = build(copy, folder)
        warm = []
        for run in range(RUNS):
            say(f"warm build {run + 1} of {RUNS}")
            page.write_text(page.read_text("utf-8") + f"\nEdit {run}.\n", encoding="utf-8")
            warm.append(build(copy, folder))
        say("rebuilds while serving")
        command = [sys.executable, "-c", REBUILD, str(folder), str(RUNS)]
        result = subprocess.run(command, cwd=copy, check=True, capture_output=True, text=True)
    served = [float(seconds) for seconds in result.stdout.split()]
    return {
        "cold": cold,
        "warm": statistics.median(warm),
        "rebuild while serving": statistics.median(served),
    }


def first_visit(address: str) -> dict[str, int]:
    """Requests and bytes over the wire, with an empty cache."""
    seen: list[int] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=chromium_for_tests.find(), args=["--no-sandbox"]
        )
        page = chromium.new_page(viewport={"width": 412, "height": 823})
        client = page.context.new_cdp_session(page)
        client.send("Network.enable")
        client.on("Network.loadingFinished", lambda e: seen.append(int(e["encodedDataLength"])))
        page.goto(address)
        page.wait_for_load_state("networkidle")
        chromium.close()
    return {"requests": len(seen), "bytes": sum(seen)}


def lighthouse(address: str) -> dict[str, float]:
    """The medians of Lighthouse's four scores, with its phone preset."""
    home = ROOT / ".cache" / "lighthouse"
    program = home / "node_modules" / ".bin" / "lighthouse"
    if not program.exists():
        say("installing Lighthouse")
        home.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(
            [*install, f"lighthouse@{LIGHTHOUSE}"], cwd=home, check=True, stdout=subprocess.DEVNULL
        )
    flags = "--headless=new --no-sandbox --disable-background-networking"
    runs: list[dict[str, Any]] = []
    for _ in range(RUNS):
        command = [str(program), address, "--quiet", "--output=json", f"--chrome-flags={flags}"]
        command.append(f"--only-categories={','.join(SCORES)}")
        environment = os.environ | {"CHROME_PATH": str(chromium_for_tests.find())}
        result = subprocess.run(command, env=environment, check=True, capture_output=True)
        runs.append(json.loads(result.stdout))
    failing = {
        audit["id"]
        for run in runs
        for category in run["categories"].values()
        if category["id"] != "performance"
        for ref in category["auditRefs"]
        if (audit := run["audits"][ref["id"]])["score"] not in (None, 1) and ref["weight"]
    }
    if failing:
        say(f"audits that fail: {', '.join(sorted(failing))}")
    return {
        name: statistics.median(run["categories"][name]["score"] for run in runs) for name in SCORES
    }


def heaviest(site: Path) -> str:
    """Of the pages with an instrument, the home page aside, the one with the most bytes."""
    pages = [file for file in site.glob("en/**/*.html") if file != site / PAGES["home"]]
    found = [file for file in pages if "data-instrument=" in file.read_text("utf-8")]
    return max(found, key=lambda file: file.stat().st_size).relative_to(site).as_posix()


def proofs() -> float:
    """Seconds of pytest over all pages."""
    say("proving the pages")
    start = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "README.md", "CONTRIBUTING.md", "docs"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    results: dict[str, Any] = {"build seconds": builds(), "pytest seconds over pages": proofs()}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address:
        say("building what is measured")
        build(ROOT, Path(folder), address)
        pages = PAGES | {"instrument": heaviest(Path(folder))}
        for kind, path in pages.items():
            say(f"visiting the {kind} page")
            results[kind] = first_visit(address + path) | lighthouse(address + path)
        say("handling the instruments")
        results["instruments"] = instruments.measured(address)
    times = results["build seconds"]
    for name in ("warm", "rebuild while serving"):
        times[f"{name} / cold"] = times[name] / times["cold"]
    target = ROOT / "bench" / "results" / "site.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("| page | requests | bytes | " + " | ".join(SCORES) + " |")
    print("|---|---|---|" + "---|" * len(SCORES))
    for kind in pages:
        row = results[kind]
        scores = " | ".join(f"{row[name]:.2f}" for name in SCORES)
        print(f"| {kind} | {row['requests']} | {row['bytes']} | {scores} |")
    print("\n" + instruments.table(results["instruments"]))
    print("\n| build | seconds | of cold |\n|---|---|---|")
    for name in ("cold", "warm", "rebuild while serving"):
        print(f"| {name} | {times[name]:.1f} | {times[name] / times['cold']:.2f} |")
    print(f"\nAll pages proved in {results['pytest seconds over pages']:.1f} s")


if __name__ == "__main__":
    main()
