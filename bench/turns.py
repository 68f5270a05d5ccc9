"""What the measurements share: contenders that take turns, ratios, options and kept results.

What is claimed are ratios from one run: absolute times belong to the machine.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

Times = dict[str, list[float]]


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def read_options(about: str, name: str) -> argparse.Namespace:
    """--quick and --json, and how busy the machine is, as load."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, for a first look")
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / f"{name}.json")
    options = parser.parse_args()
    options.load = os.getloadavg()[0]
    if options.load > 0.5:
        say(f"The machine is busy (load {options.load:.1f}): close contenders may look alike")
    return options


def take_turns(
    contenders: Mapping[str, Callable[[], object]],
    repetitions: int,
    label: str,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Seconds of each contender, in the order of rounds.

    On one thread, time.process_time is a clock that others on the machine hardly disturb.
    """
    names, times = list(contenders), {name: [] for name in contenders}
    for repetition in range(-1, repetitions):  # the first round warms up
        # Each round starts with another contender, and every second one goes the other way, so
        # that nobody always follows the same one.
        turn = repetition % len(names)
        for name in (names[turn:] + names[:turn])[:: -1 if repetition % 2 else 1]:
            start = clock()
            contenders[name]()
            if repetition >= 0:
                times[name].append(clock() - start)
        say(f"  {label}: round {repetition + 1} of {repetitions}", end="\r")
    say("")
    return times


def ratio(times: Times, name: str, reference: str) -> float:
    """The median over rounds of how long one took beside the other in the same round."""
    return statistics.median(a / b for a, b in zip(times[name], times[reference], strict=True))


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def keep(options: argparse.Namespace, repetitions: int, **found: object) -> None:
    """Write what was found to the file of the options, and under what circumstances."""
    result = {
        "quick": options.quick,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "repetitions": repetitions,
        "load_at_start": options.load,
        **found,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
    say(f"Kept in {options.json}")
