"""The way from the first token to the last output, in a recurrent network and in attention."""

from headwise._check import check_sizes, check_whole
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph

WORDS = {
    "en": {
        "paths": "The way from the first token to the last output",
        "rnn": "RNN",
        "attention": "attention",
        "chain": "through every state, {} operations for {} tokens",
        "direct": "directly, {} operations however many tokens",
    },
    "zh": {
        "paths": "从第一个词元到最后的输出",
        "rnn": "RNN",
        "attention": "注意力",
        "chain": "经过每一个状态，{} 次运算，共 {} 个词元",
        "direct": "直接到达，{} 次运算，与词元个数无关",
    },
}


@with_twin
def paths(seq_len: int, rnn: int, attention: int, *, lang: str = "en") -> Figure:
    """How the first of seq_len tokens reaches the last output, and over how many operations.

    rnn, attention: the operations on the shortest way in each, as counted by the caller.
    """
    words = choose(WORDS, lang)
    check_whole("seq_len", seq_len, 2, 8)
    check_sizes(rnn=rnn, attention=attention)
    told = [words["chain"].format(rnn, seq_len), words["direct"].format(attention)]
    sheet, step = Sheet(), (WIDTH - 1) / seq_len
    wide = step - 14
    middles = [i * step + step / 2 for i in range(seq_len)]
    sentences = [words["paths"]]
    for top, kind, text in ((0.0, "rnn", told[0]), (152.0, "attention", told[1])):
        sentences.append(words[kind] + words["colon"] + text)
        sheet.text(0.0, top + 8, words[kind], **BOLD)
        sheet.text(WIDTH, top + 8, text, SMALL, text_anchor="end")
        for i, middle in enumerate(middles):
            last = i == seq_len - 1
            sheet.box(middle - wide / 2, top + 100, wide, 24.0, "blue" if i == 0 else None)
            sheet.text(middle, top + 112, f"x{i + 1}", SMALL)
            if kind == "attention":
                sheet.arrow((middle, top + 99), (middles[-1], top + 51))
            else:
                sheet.arrow((middle, top + 99), (middle, top + 51))
            if kind == "rnn" and not last:
                sheet.arrow((middle + wide / 2, top + 38), (middle + step - wide / 2 - 1, top + 38))
            if kind == "rnn" or last:
                name = f"h{i + 1}" if kind == "rnn" else "out"
                sheet.box(middle - wide / 2, top + 26, wide, 24.0, "blue")
                sheet.text(middle, top + 38, name, SMALL)
    return sheet.figure(words["paths"], paragraph(sentences, words), lang)
