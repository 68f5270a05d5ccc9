"""On the real pages, no tensor can stay behind unnoticed: each move to the device is needed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proseproof.page import Block, Page
from proseproof.prover import PageProof, Project
from proseproof.settings import Settings

MOVE = re.compile(r"\.to\(device\)|(?:, )?device=(?:x\.)?device\b")
SETTINGS = Settings.load(Path(__file__).parents[2])
assert SETTINGS is not None
PROJECT = Project(SETTINGS)


def moves() -> Iterator[tuple[str, Page, Block, re.Match[str]]]:
    """Every place at which a GPU block of an English page puts something on the device."""
    for path in PROJECT.paths():
        if path.startswith("docs/en/") and path.endswith(".md"):
            page = PROJECT.page(path)
            for block in page.blocks:
                for move in MOVE.finditer(block.code) if block.gpu else ():
                    line = block.first + block.code.count("\n", 0, move.start())
                    yield f"{path}:{line}", page, block, move


MOVES = list(moves())


def rehearse(page: Page, block: Block) -> str:
    """What the proof says of the block on the made-up accelerator, or nothing."""
    return "".join(finding.message for finding in PageProof(PROJECT, page.path).rehearsed(block))


def test_pages_have_gpu_blocks() -> None:
    assert len(MOVES) > 30
    assert len({page.path for _, page, _, _ in MOVES}) >= 5


@pytest.mark.parametrize(
    ("place", "page", "block", "move"), MOVES, ids=[f"{m[0]}-{m[3].start()}" for m in MOVES]
)
def test_move_turned_into_a_comment_fails_and_names_its_line(
    place: str, page: Page, block: Block, move: re.Match[str]
) -> None:
    before, after = block.code[: move.start()], block.code[move.end() :]
    rest, newline, below = after.partition("\n")
    code = f"{before}{rest}  # {move[0]}{newline}{below}"
    said = rehearse(page, replace(block, code=code))
    lines = re.search(r"left on the CPU: what line ([\d, ]+) made", said)
    assert lines and place.rpartition(":")[2] in lines[1].split(", "), said


@pytest.mark.parametrize(
    ("page", "block"),
    {(page.path, block.line): (page, block) for _, page, block, _ in MOVES}.values(),
    ids=lambda one: one.path if isinstance(one, Page) else str(one.line),
)
def test_block_as_it_stands_leaves_nothing_behind(page: Page, block: Block) -> None:
    assert rehearse(page, block) == ""
