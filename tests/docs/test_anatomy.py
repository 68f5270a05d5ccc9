"""What every chapter and every question has, so that a reader knows where to look for it."""

import re
from pathlib import Path

import pytest
from prose_lines import FILES, HAN, ROOT, Line, read_lines

from proseproof.page import Page
from proseproof.page_reader import read

CHAPTERS = [path for path in FILES if "/chapters/" in path]
# What an adult reads in a minute, silently and with understanding; a code span counts as a word.
# English: 238 words (Brysbaert 2019, a mean over 190 studies). Chinese: 300 to 500 characters.
WORDS, CHARACTERS = 238, 350
# How the answer to a statement begins.
VERDICT = r"    \*\*(True|Partly true|Not true|对|不全对|不对)[.。]\*\* ?"


def between(page: Page, anchor: str) -> tuple[int, int]:
    """The first and the last line of the section under this heading of level 2."""
    starts = [heading.line for heading in page.headings if heading.level == 2]
    first = next(heading.line for heading in page.headings if heading.anchor == anchor)
    return first, min([start for start in starts if start > first], default=10**6) - 1


def missing_parts(page: Page) -> list[str]:
    """What a chapter should have and this one does not."""
    text, anchors = page.text, {heading.anchor for heading in page.headings}
    opening = text.split("\n## ")[0]
    has = {
        "what you will be able to do": opening.count("\n- ") >= 2,
        "the idea": "idea" in anchors,
        "a picture": any(link.figure for link in page.links),
        "a formula of its own": "\n$$\n" in text,
        "a listing": bool(page.listings),
        "blocks to run": len(page.blocks) >= 3,
        "a shape table": bool(page.tables),
    }
    for anchor, wanted in (("questions", "questions that belong here"), ("next", "where next")):
        found = []
        if anchor in anchors:
            first, last = between(page, anchor)
            found = [link for link in page.links if first < link.line <= last]
        has[wanted] = bool(found)
    folded = []
    if "exercises" in anchors:
        first, last = between(page, "exercises")
        section = "\n".join(page.text.split("\n")[first:last])
        folded = re.split(r"^\?\?\? ", section, flags=re.MULTILINE)[1:]
    has["two to four exercises"] = 2 <= len(folded) <= 4
    has["a solution that runs for each"] = all("    ```python\n" in one for one in folded)
    return [part for part, there in has.items() if not there]


@pytest.mark.parametrize("path", CHAPTERS)
def test_chapter_has_all_its_parts(path: str) -> None:
    assert missing_parts(read(ROOT, path)) == []


def test_chapter_without_its_parts_is_caught(tmp_path: Path) -> None:
    Path(tmp_path, "bare.md").write_text("# Bare {#bare}\n\n## The idea {#idea}\n\nWords.\n")
    missing = missing_parts(read(tmp_path, "bare.md"))
    assert {"a picture", "a formula of its own", "a shape table", "where next"} <= set(missing)


def sentences(text: str) -> int:
    """How many sentences there are; what stands in quotation marks or brackets is no end."""
    text = re.sub(r"“[^”]*”|\"[^\"]*\"|（[^）]*）|\([^)]*\)", "x", text)
    return len(re.findall(r"[.?](?=\s|$)|[。？]", text))


def reading_load(lines: list[Line]) -> float:
    """The share of a minute that it takes to read these lines."""
    text = " ".join(line.text for line in lines)
    if re.search(HAN, text):
        return len(re.findall(rf"{HAN}|[^\W_\u3400-\u9fff]+|[\ue000-\uefff]", text)) / CHARACTERS
    return len(text.split()) / WORDS


def entries(path: str) -> list[tuple[str, int, int]]:
    """The questions, mistakes or exhibits on a page: anchor, first and last line."""
    page = read(ROOT, path)
    anchors = [heading.anchor for heading in page.headings if heading.level == 2]
    return [(anchor, *between(page, anchor)) for anchor in anchors if anchor != "next"]


def every(folder: str) -> pytest.MarkDecorator:
    """Every entry on the pages of this folder."""
    found = [(path, *one) for path in FILES if f"/{folder}/" in path for one in entries(path)]
    return pytest.mark.parametrize(
        ("path", "first", "last"),
        [(path, first, last) for path, _, first, last in found],
        ids=[f"{path.removeprefix('docs/')}#{anchor}" for path, anchor, *_ in found],
    )


every_question, every_mistake, every_exhibit = map(every, ("questions", "mistakes", "museum"))


@every_question
def test_answer_comes_first_and_is_short(path: str, first: int, last: int) -> None:
    lines = FILES[path].split("\n")
    answer, mark = lines[first + 1 : first + 3]
    assert mark == "{ .answer }" and 1 <= sentences(answer) <= 2, f"{path}:{first + 2}"


@every_question
def test_question_is_proved_and_leads_to_its_chapter(path: str, first: int, last: int) -> None:
    page = read(ROOT, path)
    assert [block for block in page.blocks if first < block.line <= last], f"{path}:{first}"
    end = "\n".join(page.text.split("\n")[first:last]).strip().splitlines()[-1]
    assert re.search(r"\]\(\.\./chapters/\w+\.md#[\w-]+\)[.。]$", end), f"{path}:{last}: {end}"


@every_question
def test_question_is_read_in_a_minute(path: str, first: int, last: int) -> None:
    lines = [line for line in read_lines(path, FILES[path]) if first < line.number < last - 1]
    assert reading_load(lines) <= 1, f"{path}:{first}: {reading_load(lines):.2f} minutes"


def folds(lines: list[str], first: int, last: int) -> list[tuple[int, str]]:
    """What unfolds in a section: the line that opens it, counted from 1, and its kind."""
    openings = [(n, re.match(r'\?\?\? (\w+) "', lines[n - 1])) for n in range(first, last)]
    return [(n, opening[1]) for n, opening in openings if opening]


@every_mistake
def test_verdict_and_proof_unfold_below_the_statement(path: str, first: int, last: int) -> None:
    page = read(ROOT, path)
    lines = page.text.split("\n")
    ((fold, kind),) = folds(lines, first, last)
    assert kind == "question" and lines[fold + 2] == "    { .answer }", f"{path}:{fold}"
    assert re.match(VERDICT, lines[fold + 1]), f"{path}:{fold + 2}"
    blocks = [block.line for block in page.blocks if first < block.line <= last]
    assert blocks and min(blocks) > fold, f"{path}:{first}"


@pytest.mark.parametrize("path", [path for path in FILES if "/mistakes/" in path])
def test_not_every_statement_is_wrong(path: str) -> None:
    """With one verdict for all of them, nobody would have to think."""
    verdicts = {match[1] for match in re.finditer(VERDICT, FILES[path], re.MULTILINE)}
    assert len(verdicts) > 1, path


@every_exhibit
def test_exhibit_shows_code_and_lets_the_reader_guess(path: str, first: int, last: int) -> None:
    """Its purpose, the code, a block; the symptom unfolds, and then the correction."""
    page = read(ROOT, path)
    lines = page.text.split("\n")
    purpose = "This code is meant to |本来想做的是："
    assert re.match(purpose, lines[first + 1]), f"{path}:{first + 2}"
    (guess, question), (correction, success) = folds(lines, first, last)
    assert (question, success) == ("question", "success"), f"{path}:{guess}"
    listings = [one.line for one in page.listings if first < one.line <= last]
    ((block, output),) = [
        (one.line, one.output.line)
        for one in page.blocks
        if first < one.line < correction and one.output
    ]
    assert first + 4 == listings[0] < block < guess < output < correction < listings[1]


@pytest.mark.parametrize("path", [path for path in FILES if "/museum/" in path])
def test_room_has_a_picture(path: str) -> None:
    assert any(link.figure for link in read(ROOT, path).links)


def test_long_answers_are_noticed() -> None:
    assert sentences("Yes. No. Perhaps.") == 3 and sentences("对。不对。") == 2
    assert sentences('He said "a. b." of it.') == 1
    assert reading_load([Line("a", 1, "word " * 300)]) > 1
    assert reading_load([Line("a", 1, "字" * 400)]) > 1


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".md")])
def test_no_block_holds_what_serves_a_figure_alone(path: str) -> None:
    """What draws a figure stands in the comment above its block."""
    blocks = read(ROOT, path).blocks
    assert [block.line for block in blocks if "headwise.drawing" in block.code] == []
