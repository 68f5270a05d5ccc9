"""In a browser, every graph gives what the function of the library gives that it was made of."""

import random
from typing import Any

import pytest
from graph_proof import CASES, Cases, drawn
from playwright.sync_api import Browser

from headwise.models import numerals, translator
from sitekit.exports import programs
from sitekit.static_host import serving

PROGRAMS = programs()
NUMBERS = 1000


@pytest.fixture(scope="session")
def cases() -> Cases:
    """What goes into the graphs, and what the library makes of it."""
    cases = Cases()
    for name, program in PROGRAMS.items():
        for inputs, outputs in drawn(program):
            cases.add(name, inputs, outputs)
    # Given all words before it, each word has to be the library's: then so is what is written.
    # Those of about the same length go together, as what fills up the others is computed too.
    chance = random.Random(1)
    numbers = [chance.randrange(10 ** chance.randrange(1, 10)) for _ in range(NUMBERS)]
    texts = sorted((numerals.to_chinese(n) for n in numbers), key=len)
    model = translator.load()
    for i in range(0, NUMBERS, NUMBERS // 10):
        batch = texts[i : i + NUMBERS // 10]
        said = translator.encode_words(translator.say(model, batch))
        cases.translate(translator.encode(batch), said[:, :-1], said[:, 1:])
    return cases


@pytest.fixture(scope="module")
def visited(
    cases: Cases, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What a page found: all cases of all graphs in one visit."""
    folder = tmp_path_factory.mktemp("graphs")
    cases.write(folder)
    with serving(folder) as address:
        page = browser.new_page()
        page.goto(f"{address}graphs.html")
        page.wait_for_function("window.found", timeout=120_000)
        found = page.evaluate("found.map(one => Number.isFinite(one) ? one : String(one))")
        wrong = page.evaluate("wrong")
        page.close()
    errors: dict[str, list[float | str]] = {}
    for case, error in zip(cases.cases, found, strict=True):
        errors.setdefault(case["graph"], []).append(error)
    return {"errors": errors, "wrong": wrong}


@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_gives_the_librarys_numbers(visited: dict[str, Any], name: str) -> None:
    errors = visited["errors"][name]
    assert len(errors) == CASES
    bad = {i: error for i, error in enumerate(errors) if isinstance(error, str) or error > 1e-5}
    assert bad == {}


def test_translator_writes_the_librarys_words(visited: dict[str, Any]) -> None:
    """With weights of half precision, and the library's with its own."""
    assert visited["wrong"] == 0
