"""Every kind of change that the drill knows, and the choice among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from proseproof import (
    drill_blocks,
    drill_formulas,
    drill_frames,
    drill_numbers,
    drill_spans,
    drill_turns,
    drill_values,
)
from proseproof.drill_changes import Author, Change


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change by its name, and where its candidates come from."""
    modules = (
        drill_spans,
        drill_blocks,
        drill_frames,
        drill_values,
        drill_turns,
        drill_numbers,
        drill_formulas,
    )
    return {kind: one for module in modules for kind, one in module.kinds(author).items()}


def choose(author: Author, count: int, words: list[str]) -> list[Change]:
    """Changes spread evenly over the kinds, and within a kind over the files.

    Of the kinds, those are taken that have one of the words in their name, or else all.
    """
    queues: dict[str, list[Change]] = {}
    for kind, source in kinds(author).items():
        if words and not any(word in kind for word in words):
            continue
        by_path: dict[str, list[Change]] = defaultdict(list)
        for change in source():
            by_path[change.path].append(change)
        for changes in by_path.values():
            author.chance.shuffle(changes)
        files = sorted(by_path)
        author.chance.shuffle(files)
        queue = []
        while any(by_path.values()):
            queue += [by_path[path].pop() for path in files if by_path[path]]
        queues[kind] = queue
    chosen: list[Change] = []
    while len(chosen) < count and any(queues.values()):
        for queue in queues.values():
            if queue and len(chosen) < count:
                chosen.append(queue.pop(0))
    return chosen
