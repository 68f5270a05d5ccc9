"""The language of the pages: typography, spelling, the glossary's words, and our own sentences."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import pytest
from prose_lines import CODE, FILES, HAN, LINES, ROOT, Line, read_lines

from proseproof.page_fences import FENCE

CHINESE = [
    line for line in LINES if not line.path.startswith("docs/en/") and re.search(HAN, line.text)
]


def sample(text: str) -> list[Line]:
    """A made-up page, read."""
    return list(read_lines("page.md", text))


def report(found: list[str]) -> None:
    """Fail with everything found."""
    assert not found, "\n" + "\n".join(found)


def test_only_what_is_read_as_prose_is_checked() -> None:
    page = """---
description: about `x`
ids: [T1]
---

# Title {#anchor}

<!-- a
comment -->
A [link](target.md#t) to `code`{.text}, $a$ and <b>.

```python
hidden = 1
```

$$
hidden
$$

??? example "Answer"

    | cell | `x` |
    |---|---|
"""
    read = [(line.number, line.shown(line.text)) for line in sample(page)]
    assert read == [
        (2, "about `x`"),
        (6, "Title"),
        (10, "A link to `code`{.text}, $a$ and <b>."),
        (20, "Answer"),
        (22, "cell"),
        (22, "`x`"),
    ]


def test_markdown_cells_of_a_lab_are_checked() -> None:
    lab = "# ---\n# description: d\n# ---\n\n# %% [markdown]\n# prose\n\n# %%\n# code\nx = 1\n"
    assert [(line.number, line.text) for line in read_lines("a.py", lab)] == [
        (2, "d"),
        (6, "prose"),
    ]


# Chinese typography

# Each pattern with what stands there instead; the order matters: brackets and punctuation are
# widened first, and spaces are settled around what then stands there.
WORD = rf"[A-Za-z0-9Α-ω√∞ᵀ²−±%{CODE}]"
FULL = "，。；：？！、（）“”《》"
AFTER = r"(?<=[\u3400-\u9fff”）》])"
WIDE = dict(zip(",;:?!.", "，；：？！。", strict=True))
RULES: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"[「『]", "“"),
    (r"[」』]", "”"),
    (r'"([^"]*)"?', r"“\1”"),
    (r"[０-９Ａ-Ｚａ-ｚ]", lambda match: chr(ord(match[0]) - 0xFEE0)),
    (rf"\(([^()]*{HAN}[^()]*)\)", r"（\1）"),
    (rf"(?<={HAN}) ?\(([^()]*)\)", r"（\1）"),
    (r"（([^（）()]*)\)", r"（\1）"),
    (r"\(([^（）()]*)）", r"（\1）"),
    (r"\.{3}|(?<!…)…(?!…)", "……"),
    (rf"{AFTER} ?([,;:?!])", lambda match: WIDE[match[1]]),
    (rf"{AFTER}\.(?![\w.{CODE}])", "。"),
    (rf"(?<=[A-Za-z0-9){CODE}]) ?([,;:?!]) ?(?={HAN})", lambda match: WIDE[match[1]]),
    (rf"(?<=[A-Za-z){CODE}])\. ?(?={HAN})", "。"),
    (rf"(?<={HAN}) ?(?:-{{2,}}|(?<!—)—(?!—)) ?(?={HAN})", "——"),
    (r"([，。；：、])[，。；：、]+", r"\1"),
    (rf"(?<={HAN})(?={WORD})|(?<={WORD})(?={HAN})|(?<=[)\]])(?={HAN})", " "),
    (rf" +(?=[{FULL}])|(?<=[{FULL}]) +", ""),
]


def tidy(text: str) -> str:
    """The text as the rules have it."""
    for pattern, instead in RULES:
        text = re.sub(pattern, instead, text)
    return text


def untidy(lines: Iterable[Line]) -> list[str]:
    """Where the typography of Chinese lines is off, and what should stand there."""
    found = []
    for line in lines:
        wanted = tidy(line.text)
        if wanted != line.text:
            pairs = zip(line.text, wanted, strict=False)
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            begin = max(0, same - 8)
            found.append(line.says(line.text[begin : same + 8], wanted[begin : same + 9]))
        for pair in ("“”", "（）"):
            marks = re.sub(f"[^{pair}]", "", line.text)
            if marks != pair * (len(marks) // 2):
                found.append(f"{line.path}:{line.number}: {marks} does not pair up")
    return found


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("用Python写", "用 Python 写"),
        ("这是`x`的值", "这是 `x` 的值"),
        ("长度$d_k$", "长度 $d_k$"),
        ("见[Python](a.md)。", "见 [Python](a.md)。"),
        ("除以√d_k", "除以 √d_k"),
        ("O(n)的", "O(n) 的"),
        ("分数,权重", "分数，权重"),
        ("是 True, 不是 False", "是 True，不是 False"),
        ("**权重**;分数", "**权重**；分数"),
        ("分数.", "分数。"),
        ("用 PyTorch. 然后", "用 PyTorch。然后"),
        ("分数(scores)", "分数（scores）"),
        ("shape (形状)", "shape（形状）"),
        ("分数（scores)", "分数（scores）"),
        ("scores (分数）", "scores（分数）"),
        ("填−1e9", "填 −1e9"),
        ('他说"对"', "他说“对”"),
        ("他说「对」", "他说“对”"),
        ("分数 ，权重", "分数，权重"),
        ("分数。 权重", "分数。权重"),
        ("从 “The cat” 里", "从“The cat”里"),
        ("分数。。", "分数。"),
        ("第１行", "第 1 行"),
        ("分数...", "分数……"),
        ("分数--权重", "分数——权重"),
    ],
)
def test_untidy_chinese_is_caught(wrong: str, right: str) -> None:
    (line,), (meant,) = sample(wrong), sample(right)
    assert line.shown(tidy(line.text)) == meant.shown(meant.text)
    assert untidy([line])[0].startswith("page.md:1: there stands ")
    assert not untidy([meant])


@pytest.mark.parametrize("text", ["“分数", "分数）", "”分数“"])
def test_unpaired_marks_are_caught(text: str) -> None:
    assert "does not pair up" in untidy(sample(text))[-1]


@pytest.mark.parametrize(
    "text",
    [
        "**陷阱。** 形状为 `(2, 5)`。",
        "1. 第一，看 x[0, 1] 和 3.11、−1e9。",
        "掩码 (batch, seq_len) 配得上分数",
        "编码器-解码器",
        "见 `a.py`、https://example.org/a，以及 [A](b.md)（可选）。",
    ],
)
def test_tidy_chinese_passes(text: str) -> None:
    assert not untidy(sample(text))


def test_chinese_is_set_well() -> None:
    report(untidy(CHINESE))


def test_chinese_of_listings_is_set_well() -> None:
    name = "docs/zh/listings.toml"
    for said in tomllib.loads((ROOT / name).read_text(encoding="utf-8")).values():
        report(untidy(read_lines(name, re.sub(r"\([ -'*-~]*,[ -'*-~]*\)", "`shape`", said))))


# English spelling

IZE = r"\b(?!\w*(?:siz|priz|seiz))(\w+i)z(e[drs]?|ing|ers|ations?)\b"


def misspelt(lines: Sequence[Line]) -> list[str]:
    """Words that are misspelt, or spelt the American way."""
    command = [Path(sys.executable).with_name("typos"), "--isolated", "--locale=en-gb"]
    run = subprocess.run(
        [*command, "--format=json", "-"],
        input="\n".join(re.sub(f"[{CODE}]", " ", line.text) for line in lines).encode(),
        capture_output=True,
        check=False,
    )
    assert run.returncode in (0, 2), run.stderr.decode()  # 2: there are findings
    typos = [json.loads(line) for line in run.stdout.splitlines()]
    return [
        lines[typo["line_num"] - 1].says(typo["typo"], " or ".join(typo["corrections"]))
        for typo in typos
    ] + [
        line.says(match[0], f"{match[1]}s{match[2]}")
        for line in lines
        for match in re.finditer(IZE, line.text)
    ]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("We recieve it.", "receive"),
        ("Its color", "colour"),
        ("They are normalized.", "normalised"),
        ("to tokenize", "tokenise"),
        ("A labeled center", "labelled"),
    ],
)
def test_misspelt_english_is_caught(wrong: str, right: str) -> None:
    found = misspelt(sample(f"\n{wrong}"))
    assert found and found[0].startswith("page.md:2: ") and found[0].endswith(f"{right!r}")


def test_code_and_good_english_pass() -> None:
    assert not misspelt(
        sample("Resize the `color` by $normalize$; its size, colour and behaviour.")
    )


def test_english_is_spelt_well() -> None:
    report(misspelt(LINES))


# The glossary's words


def glossary(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """The words of a glossary page by anchor: those of its own language, those of the other."""
    headings = re.findall(r"^## (.+?) ?[（(](.+)[）)] \{#(.+)\}$", text, re.MULTILINE)
    return {
        anchor: (re.split("、|, ", own.lower()), re.split("、|, ", other.lower()))
        for own, other, anchor in headings
    }


GLOSSARY = glossary(FILES["docs/zh/glossary.md"])
WORDS = {zh: en for pair in GLOSSARY.values() for zh, en in zip(*pair, strict=True)}
METHODS = {"transpose", "contiguous"}  # also what one calls in PyTorch, by that name

# What is not written on these pages and what is instead, with the reason where it is not plain.
CHINESE_WORDS = {
    "得分": "分数",
    "遮罩|蒙版": "掩码",
    "前瞻掩码|未来掩码|三角掩码": "因果掩码",
    "位置嵌入": "位置编码",  # what is learned instead is called 可学习的位置
    "变换器|变压器": "Transformer",
    "令牌": "词元",
    "跳跃连接|跳连|残差链接": "残差连接",
    "层标准化|层规范化|归一层": "层归一化",
    "步幅": "步长",
    "编码端": "编码器",
    "解码端": "解码器",
    "编解码": "编码器-解码器",
    "矢量": "向量",
}
ENGLISH_WORDS = {
    "(?i:look-?ahead|subsequent|triangular) mask": "causal mask",
    "(?i:pad|padded) mask": "padding mask",
    "(?i:positional) (?:embedding|code)": "positional encoding",  # a learned one: learned positions
    "(?i:self) attention": "self-attention",
    "(?i:multi ?head)": "multi-head",
    "(?i:feed ?forward)": "feed-forward",
    "(?i:skip|shortcut) connection": "residual connection",
    "(?i:layer ?norm)": "layer normalisation",
    "(?i:simply)": "nothing",  # what is simple needs no telling
    "transformers?": "Transformer",
    "[Pp]ytorch|pyTorch": "PyTorch",
}
LOUD = "[!！✅❌\U0001f000-\U0001ffff]"


def strange_words(lines: Iterable[Line]) -> list[str]:
    """Words for which the site has another, and shouting."""

    def whole(word: str) -> str:  # not part of a longer word, nor of a name like nn.Transformer
        return rf"(?<![A-Za-z_.-])(?:{word})(?![A-Za-z_(-])"

    english = {whole(word): wanted for word, wanted in ENGLISH_WORDS.items()}
    both = {LOUD: "a calmer sentence", **english}
    in_chinese = {
        whole(f"(?i:{re.sub('y$', '(?:y|ies)', en)}s?)"): zh
        for zh, en in WORDS.items()
        if en not in METHODS
    }
    found = []
    for line in lines:
        text, words = line.text, both
        if re.search(HAN, text) and not line.path.startswith("docs/en/"):
            text = re.sub(
                r"（[^（）\u3400-\u9fff]*）|《[^《》]*》", "", text
            )  # as in 词元（token）
            words = both | CHINESE_WORDS | in_chinese
        for word, wanted in words.items():
            found += [line.says(match[0], wanted) for match in re.finditer(word, text)]
    return found


def one_sided(chinese: Sequence[Line], english: Sequence[Line]) -> list[str]:
    """Glossary words that one page of a pair uses and the other never does."""

    def first(lines: Sequence[Line], pattern: str) -> Line | None:
        return next((line for line in lines if re.search(pattern, line.text)), None)

    found = []
    for zh, en in WORDS.items():
        if len(zh) < 2 or en in METHODS:  # 键 and 值 are part of many other words
            continue
        # 分数 and 权重 will do for scores and weights, and one score for 分数.
        word = zh if "attention" in en else zh.removeprefix("注意力")
        # Exposure bias, 曝光偏差, is no 偏置.
        exact = rf"(?i)(?<!exposure )\b{en}".replace(" ", "[ -]").removesuffix("y")
        for use, other, pattern, missing in (
            (first(chinese, word), english, exact.removesuffix("s"), en),
            (first(english, exact), chinese, word, word),
        ):
            if use and not first(other, pattern):
                place = f"{use.path}:{use.number}"
                found.append(f"{place}: {zh} / {en}, but {other[0].path} never says {missing}")
    return found


def test_both_glossaries_pair_the_same_words() -> None:
    english = glossary(FILES["docs/en/glossary.md"])
    assert {anchor: (zh, en) for anchor, (en, zh) in english.items()} == GLOSSARY
    assert len(WORDS) > 20


@pytest.mark.parametrize("word", "|".join(CHINESE_WORDS).split("|"))
def test_strange_chinese_word_is_caught(word: str) -> None:
    assert (
        f"there stands {word!r}" in strange_words(read_lines("docs/zh/a.md", f"这（个{word}）"))[0]
    )


@pytest.mark.parametrize(
    ("path", "text", "right"),
    [
        ("docs/zh/a.md", "每个 token 都有", "词元"),
        ("docs/zh/a.md", "三个 Queries", "查询"),
        ("docs/zh/a.md", "两个 masks", "掩码"),
        ("docs/zh/a.md", "在 pytorch 里", "PyTorch"),
        ("docs/zh/a.md", "很好！", "a calmer sentence"),
        ("docs/en/a.md", "Good!", "a calmer sentence"),
        ("docs/en/a.md", "The look-ahead mask.", "causal mask"),
        ("docs/en/a.md", "a pad mask", "padding mask"),
        ("docs/en/a.md", "Positional embedding", "positional encoding"),
        ("docs/en/a.md", "of self attention", "self-attention"),
        ("docs/en/a.md", "A multi head layer", "multi-head"),
        ("docs/en/a.md", "the feedforward part", "feed-forward"),
        ("docs/en/a.md", "the skip connection", "residual connection"),
        ("docs/en/a.md", "Layer norm", "layer normalisation"),
        ("docs/en/a.md", "It is simply so.", "nothing"),
        ("docs/en/a.md", "the transformer", "Transformer"),
    ],
)
def test_strange_word_is_caught(path: str, text: str, right: str) -> None:
    (found,) = strange_words(read_lines(path, text))
    assert found.startswith(f"{path}:1: ") and found.endswith(f"{right!r}")


def test_names_and_translations_pass() -> None:
    text = (
        "词元（token）由 `token_ids` 来，见 nn.MultiheadAttention 和《Attention Is All You Need》。"
    )
    assert not strange_words(read_lines("docs/zh/a.md", text))


def test_words_are_the_glossarys() -> None:
    report(strange_words(LINES))


def test_a_glossary_word_on_one_side_only_is_caught() -> None:
    chinese, english = sample("因果掩码与填充掩码"), sample("the causal mask and the padding")
    (found,) = one_sided(chinese, english)
    assert found == "page.md:1: 填充掩码 / padding mask, but page.md never says padding mask"


def test_both_languages_use_the_same_glossary_words() -> None:
    found: list[str] = []
    for path in FILES:
        other = path.replace("docs/zh/", "docs/en/", 1)
        if other != path and other in FILES:
            found += one_sided(*([x for x in LINES if x.path == side] for side in (path, other)))
    report(found)


# Sentences and code of our own

RUNS = frozenset((Path(__file__).parent / "source_fingerprints.txt").read_text().split("\n")[2:])
HAN_RUN, CODE_RUN = 12, 6  # characters, lines


def han_runs(text: str) -> Iterator[tuple[int, str]]:
    """Runs of Chinese characters, all else dropped, each with its line."""
    found = [
        (number, character)
        for number, line in enumerate(text.split("\n"), 1)
        for character in re.findall(HAN, line)
    ]
    for first in range(len(found) - HAN_RUN + 1):
        run = found[first : first + HAN_RUN]
        yield run[0][0], "".join(character for _, character in run)


def code_runs(text: str, fenced: bool = True) -> Iterator[tuple[int, str]]:
    """Runs of lines of code that say something, each with its line."""
    found: list[tuple[int, str]] = []
    inside = not fenced
    for number, line in enumerate(text.split("\n"), 1):
        if fenced and FENCE.match(line):
            inside = not inside
            found = []
        bare = re.sub(r"#.*|\s", "", line)
        if inside and len(bare) >= 8 and not re.match(r"\s*(?:import|from|```)", line):
            found.append((number, bare))
            if len(found) >= CODE_RUN:
                yield found[-CODE_RUN][0], "\n".join(line for _, line in found[-CODE_RUN:])


def fingerprint(run: str) -> str:
    """Ten digits by which a run is known without being kept."""
    return hashlib.sha256(run.encode()).hexdigest()[:10]


def taken_over(path: str, text: str, known: frozenset[str]) -> list[str]:
    """Where a page says, word for word, what the notes say."""
    runs = [*han_runs(text), *code_runs(text, fenced=path.endswith(".md"))]
    return [
        f"{path}:{line}: taken over word for word, write it anew: {run}"
        for line, run in runs
        if fingerprint(run) in known
    ]


def test_sentence_taken_over_is_caught() -> None:
    known = frozenset(
        fingerprint(run) for _, run in han_runs("从前有一个人，他每天都去河边走一走。")
    )
    page = "# 题目\n\n据说，**从前有一个人**：他每天都去 river 河边走！"
    assert taken_over("page.md", page, known)[0].startswith("page.md:3: ")
    assert not taken_over("page.md", "从前有一个人，他天天到河边走一走。", known)


def test_code_taken_over_is_caught() -> None:
    lines = [f"value_{n} = compute({n})" for n in range(6)]
    known = frozenset(fingerprint(run) for _, run in code_runs("\n".join(lines), fenced=False))
    spaced = "\n\n".join(f"    {line}  # why" for line in lines)
    page = f"text\n\n```python\n{spaced}\n```\n"
    assert [one.partition(" ")[0] for one in taken_over("page.md", page, known)] == ["page.md:4:"]
    assert not taken_over("page.md", page.replace("compute(3)", "other(3)"), known)


def test_nothing_is_taken_over_from_the_notes() -> None:
    assert len(RUNS) > 10_000
    sources = {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted((ROOT / "src").rglob("*.py"))
    }
    report(
        [one for path, text in {**FILES, **sources}.items() for one in taken_over(path, text, RUNS)]
    )
