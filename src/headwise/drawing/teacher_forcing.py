"""What a decoder is given, what each row sees, and what it is asked for: in training and later."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from headwise._check import check_whole
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_tensor, real_numbers, strings
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph

LEFT, GAP, ANSWER = 58.0, 14.0, 80.0  # the room for given words, between tables, for answers
SEEN: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.4}
BEFORE: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.12}
HIDDEN: dict[str, Any] = {"stroke_opacity": 0.25}
SECRET: dict[str, Any] = {"hue": "orange", "fill_opacity": 0.0, "stroke_dasharray": "2 2"}
LEAKED: dict[str, Any] = {"hue": "orange", "fill_opacity": 0.6}

WORDS = {
    "en": {
        "title": "What the decoder sees, in training and in decoding",
        "training": "Training: all {} rows at once",
        "decoding": "Decoding, step {}: one new row",
        "source": "the source",
        "own": "its own words",
        "given": "given",
        "wanted": "wanted",
        "says": "it says",
        "row": "given {} it sees {} of the source and {}; {} {}",
        "seen": "may be seen",
        "secret": "the answer, hidden",
        "leaked": "the answer, visible",
    },
    "zh": {
        "title": "解码器看得见什么：训练时与解码时",
        "training": "训练：{} 行同时算",
        "decoding": "解码第 {} 步：只多一行",
        "source": "看源句",
        "own": "看自己这边",
        "given": "输入",
        "wanted": "要答",
        "says": "答出",
        "row": "输入 {} 的一行看得见源句 {} 个字和 {}，{} {}",
        "seen": "看得见",
        "secret": "答案，遮住了",
        "leaked": "答案，看得见",
    },
}


@with_twin
def teacher_forcing(
    own: Tensor,
    memory: Tensor,
    source: Sequence[str],
    words: Sequence[str],
    step: int,
    *,
    lang: str = "en",
) -> Figure:
    """A row for each given word: what it sees of the source and of its own side, and its answer.

    own: the weights of self-attention (tgt_len, tgt_len); memory: those of cross-attention
    (tgt_len, src_len). What has a weight above 0 is seen. source: the src_len source tokens;
    words: the tgt_len + 1 words of the target, from the mark at its beginning to that at its end.
    step: the rows up to this one are drawn once more, as when the model decodes.
    """
    said = choose(WORDS, lang)
    check_tensor("memory", memory)
    check_shape("memory", memory, ("tgt_len", "src_len"))
    rows, columns = memory.shape
    check_tensor("own", own)
    check_shape("own", own, (rows, rows))
    source = strings("source", source, columns)
    words = strings("words", words, rows + 1)
    check_whole("step", step, 1, rows)
    cell = min(20.0, (WIDTH - LEFT - GAP - ANSWER) / (rows + columns))
    if cell < 12:
        raise ValueError(f"words: got {rows + columns} tokens, expected fewer: they do not fit")
    sights = [
        [[number > 0 for number in line] for line in real_numbers(name, table).tolist()]
        for name, table in (("memory", memory), ("own", own))
    ]

    sheet = Sheet()
    sentences = [said["title"]]
    for kind, count in (("training", rows), ("decoding", step)):
        top, name = sheet.height + (14 if sheet.height else 0), said[kind].format(count)
        sheet.text(0, top + 8, name, **BOLD)
        told = _panel(sheet, top, cell, sights, source, words, count, kind, said)
        sentences.append(name + said["colon"] + told)
    y = sheet.height + 14
    leaks = any(sights[1][row][row + 1] for row in range(rows - 1))
    secret = ("leaked", LEAKED) if leaks else ("secret", SECRET)
    for x, (name, look) in ((0.5, ("seen", SEEN)), (150.5, secret)):
        sheet.box(x, y, 14.0, 14.0, rx=0, **look)
        sheet.text(x + 20, y + 7, said[name], text_anchor="start")
    return sheet.figure(said["title"], paragraph(sentences, said), lang)


def _panel(
    sheet: Sheet,
    top: float,
    cell: float,
    sights: list[list[list[bool]]],
    source: Sequence[str],
    words: Sequence[str],
    rows: int,
    kind: str,
    said: dict[str, str],
) -> str:
    """The first rows of both tables side by side; in words, what each of them sees."""
    second = LEFT + len(source) * cell + GAP
    answers = second + (len(words) - 1) * cell + 22
    longest = max(len(word) for word in words[:rows])
    head = top + 42 + 6.6 * longest  # where the rows begin
    verb = said["wanted" if kind == "training" else "says"]
    middle = second + rows * cell / 2
    sheet.text(LEFT + len(source) * cell / 2, top + 26, said["source"], SMALL)
    sheet.text(middle, top + 26, said["own"], SMALL)
    sheet.text(LEFT - 8, head - 9, said["given"], SMALL, text_anchor="end")
    sheet.text(answers, head - 9, verb, SMALL, text_anchor="start")
    for column, token in enumerate(source):
        sheet.text(LEFT + (column + 0.5) * cell, head - 9, token)
    for column, word in enumerate(words[:rows]):
        x, y = second + (column + 0.5) * cell, head - 4
        turned = {"text_anchor": "start", "transform": f"rotate(-90 {x:g} {y:g})"}
        sheet.text(x, y, word, SMALL, **turned)
    told = []
    for row in range(rows):
        y = head + row * cell
        new = kind == "training" or row == rows - 1
        seen_look, weight = (SEEN, 600) if new else (BEFORE, 400)
        sheet.text(LEFT - 8, y + cell / 2, words[row], SMALL, text_anchor="end")
        of_source, of_own = sights[0][row], sights[1][row][:rows]
        for left, line in ((LEFT, of_source), (second, of_own)):
            for column, seen in enumerate(line):
                look = seen_look if seen else HIDDEN
                if line is of_own and column == row + 1:  # the word that this row is asked for
                    look = LEAKED if seen else SECRET
                sheet.box(left + column * cell, y, cell - 2, cell - 2, **look, rx=2)
        middle, end = y + cell / 2 - 1, second + rows * cell
        sheet.arrow((end + 1, middle), (answers - 4, middle))
        answer = {"text_anchor": "start", "font_weight": weight}
        sheet.text(answers, middle + 1, words[row + 1], SMALL, **answer)
        visible = " ".join(word for word, seen in zip(words, of_own, strict=False) if seen)
        told.append(said["row"].format(words[row], sum(of_source), visible, verb, words[row + 1]))
    return said["semicolon"].join(told)
