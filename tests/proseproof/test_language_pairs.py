"""The two pages of a pair show and claim the same."""

import pytest
from sample_site import Site, places

ZH = """
---
title: 标题
ids: [T1]
---
# 一 {#one}

```python
n = 3  # (注释) 三
print(n)
```

<!--pytest-codeblocks:expected-output-->
```text
3
```

这里 `n == 3`，见[下文](#t1-two)和[网站](https://zh.example.org/a)。

## 二 {#t1-two}

![图](figure.zh.svg)

```python title="src/lib.py"
--8<-- "src/lib.py:double"
```

名字 `double`，词 `word`{.text}。
"""
EN = """
---
title: Title
ids: [T1]
---
# One {#one}

```python
# A comment, which is a translator's own affair
n = 3
print(n)
```

<!--pytest-codeblocks:expected-output-->
```text
3
```

See [below](#t1-two) and [the site](https://en.example.org/a): `n == 3`.

## Two {#t1-two}

![A figure](figure.en.svg)

```python title="src/lib.py"
--8<-- "src/lib.py:double"
```

The name `double`, once more `double`, the word `word`{.text}.
"""


@pytest.fixture
def pair(site: Site) -> Site:
    site.write(
        "src/lib.py", "def double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n"
    )
    site.write("docs/zh/figure.zh.svg", "<svg/>")
    site.write("docs/en/figure.en.svg", "<svg/>")
    site.pair(ZH, EN)
    return site


@pytest.mark.parametrize("path", ["docs/zh/x.md", "docs/en/x.md"])
def test_true_translation_is_no_alarm(pair: Site, path: str) -> None:
    assert pair.proof(path).pair() == []


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("{#t1-two}\n", "{#t1-tow}\n", 20, "headings"),
        ("## Two", "### Two", 20, "headings"),
        ("n = 3\n", "n = 4\n", 7, "blocks"),
        ("print(n)\n", "print(n)  # (2, 3)\n", 10, "shape comments"),
        ("```python\n#", "<!--proseproof: silent-->\n```python\n#", 8, "blocks"),
        ("text\n3", "text\n4", 14, "outputs"),
        ("lib.py:double", "lib.py:triple", 24, "listings"),
        ("figure.en.svg", "figure2.en.svg", 22, "figures"),
        ("ids: [T1]", "ids: [T2]", 1, "front matter"),
        ("`n == 3`", "`n == 4`", 18, "claims"),
        ("`double`, once", "`triple`, once", 28, "claims"),
        ("`word`{.text}", "`wrod`{.text}", 28, "claims"),
        ("](#t1-two)", "](#one)", 18, "links"),
        ("https://en.example.org/a", "https://en.example.org/b", 18, "links"),
    ],
)
def test_difference_is_caught_and_shown(
    pair: Site, old: str, new: str, line: int, what: str
) -> None:
    assert old in EN
    pair.write("docs/en/x.md", EN.replace(old, new, 1))
    findings = pair.proof("docs/en/x.md").pair()
    assert f"docs/en/x.md:{line}" in places(findings)
    assert what in " ".join(finding.message for finding in findings)
    assert any(finding.message.startswith(what) and finding.detail for finding in findings)


WORDS = """
# {title} {{#one}}

```python
def twice(n):
    {doc}
    return 2 * n


heads = 3
print({printed})
```

<!--pytest-codeblocks:expected-output-->
```text
{output}
```
"""
ENGLISH = {
    "title": "One",
    "doc": '"""Give 2 times n."""',
    "printed": 'f"all {heads} heads give {twice(heads)}"',
    "output": "all 3 heads give 6",
}
CHINESE = {
    "title": "一",
    "doc": '"""给出 n 的 2 倍。"""',
    "printed": 'f"得到 {twice(heads)}，来自全部 {heads} 个头"',
    "output": "得到 6，来自全部 3 个头",
}


def test_what_a_block_says_may_be_translated(site: Site) -> None:
    site.pair(WORDS.format(**CHINESE), WORDS.format(**ENGLISH))
    assert site.proof("docs/zh/x.md").pair() == site.proof("docs/en/x.md").pair() == []


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("doc", "2 倍", "3 倍"),
        ("doc", "给出 n 的 2 倍。", "Return 2 times n."),
        ("printed", "{heads}", "{heads + 1}"),
        ("printed", "{heads} 个头", "3 个头"),
        ("printed", "得到", "7 得到"),
        ("output", "6", "7"),
    ],
)
def test_translated_block_is_the_same_program(site: Site, part: str, old: str, new: str) -> None:
    assert old in CHINESE[part]
    changed = {**CHINESE, part: CHINESE[part].replace(old, new)}
    site.pair(WORDS.format(**changed), WORDS.format(**ENGLISH))
    assert site.proof("docs/zh/x.md").pair() != []


def test_differences_stand_side_by_side(pair: Site) -> None:
    pair.write("docs/en/x.md", EN.replace("n = 3\n", "n = 4\n"))
    (finding,) = pair.proof("docs/en/x.md").pair()
    rows = finding.detail.splitlines()
    assert rows[0].split() == ["docs/en/x.md:7", "|", "docs/zh/x.md:7"]
    assert any("n = 4" in row and "≠" in row for row in rows)


def test_block_that_moved_to_another_section_is_caught(pair: Site) -> None:
    block = EN[EN.index("```python\n#") : EN.index("See [below]")]
    pair.write("docs/en/x.md", EN.replace(block, "") + "\n" + block)
    assert any(one.message.startswith("blocks") for one in pair.proof("docs/en/x.md").pair())


def test_missing_block_is_shown_with_its_line_on_the_other_side(pair: Site) -> None:
    block = EN[EN.index("```python\n#") : EN.index("See [below]")]
    pair.write("docs/en/x.md", EN.replace(block, ""))
    findings = pair.proof("docs/en/x.md").pair()
    shown = next(one for one in findings if one.message.startswith("blocks"))
    assert "docs/en/x.md: (nothing)" in shown.detail and "docs/zh/x.md:7" in shown.detail


def test_page_without_a_counterpart_is_caught(site: Site) -> None:
    site.write("docs/zh/only.md", "# 一 {#one}\n")
    findings = site.proof("docs/zh/only.md").pair()
    assert places(findings) == ["docs/zh/only.md:1"]
    assert "docs/en/only.md" in findings[0].message


PLAINS = """
# One {#one}

```python title="数" hl_lines="1"
n = 1
```

```console
make test  # 全部
```

```math
d_k = 8 \\text{时}
```

```mermaid
graph LR
  Q["查询 (8, 5)"]
```
"""
TRANSLATED = PLAINS.replace("数", "Number").replace("全部", "all").replace("时", "if")
TRANSLATED = TRANSLATED.replace("查询", "queries")


def test_words_in_fences_may_be_translated(site: Site) -> None:
    site.pair(PLAINS, TRANSLATED)
    assert site.proof("docs/en/x.md").pair() == []


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("make test", "pip install torch==1.0", 7, "fences that are not code"),
        ("d_k = 8", "d_k = 9", 11, "fences that are not code"),
        ("(8, 5)", "(5, 8)", 15, "fences that are not code"),
        ('hl_lines="1"', 'hl_lines="2"', 3, "blocks"),
        (' hl_lines="1"', "", 3, "blocks"),
    ],
)
def test_fence_that_differs_is_caught(site: Site, old: str, new: str, line: int, what: str) -> None:
    assert old in TRANSLATED
    site.pair(PLAINS, TRANSLATED.replace(old, new))
    (finding,) = site.proof("docs/en/x.md").pair()
    assert finding.line == line
    assert finding.message.startswith(what) and finding.remedy
