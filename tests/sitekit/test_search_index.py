"""The search index: plain text, and the words that lead to a section."""

import json
from pathlib import Path

from sitekit import glossary, search_index

GLOSSARY = """---
forms:
  axis: [axis, 轴, 维度]
---

# Glossary {#glossary}

## Axis (轴) {#axis}

A direction of a tensor.

## Encoder, decoder (编码器、解码器) {#encoder-decoder}

Two halves of a model.
"""


def entry(location: str, title: str, text: str = "", **more: object) -> dict[str, object]:
    return {"location": location, "title": title, "text": text} | more


def test_a_section_is_what_a_reader_sees() -> None:
    text = "<p>If <code>a &lt; b</code>:</p><pre><code>a = 1\nb = 2</code></pre><p>then.</p>"
    index = search_index.index(
        [entry("en/x.html#y", "<code>a</code> &amp; b", text)], "en", search_index.Words()
    )
    (section,) = json.loads(index)["docs"]
    assert section == {
        "location": "x.html#y",
        "title": "a & b",
        "text": "If a < b: then.",
        "code": "a = 1 b = 2",
        "said": "y",
    }


def test_lists_of_links_are_left_out_and_exercises_come_last() -> None:
    entries = [entry(f"x.html#{anchor}", "A title") for anchor in ("a", "next", "exercises")]
    docs = json.loads(search_index.index(entries, "zh", search_index.Words()))["docs"]
    assert [(doc["location"], doc.get("boost", 1)) for doc in docs] == [
        ("x.html#a", 1),
        ("x.html#exercises", 0.6),
    ]


def test_formulas_are_what_somebody_would_type() -> None:
    formula = '<math data-latex="\\frac{QK^\\top}{\\sqrt{d_k}}"><mrow></mrow></math>'
    assert search_index.without_marks(f"<span>By {formula}</span>") == "By QKᵀ/√d_k"


def test_words_lead_to_sections(tmp_path: Path) -> None:
    file = tmp_path / "search.toml"
    file.write_text('same = [["√", "sqrt"]]\nvague = []\n[sections]\n"x#y" = ["a", "b"]\n')
    words = search_index.Words.load(file)
    words.add(glossary.read(GLOSSARY))
    entries = [
        entry("x.html#y", "A title"),
        entry("glossary.html#axis", "Axis (轴)"),
        entry("glossary.html#encoder-decoder", "Encoder, decoder (编码器、解码器)"),
    ]
    index = json.loads(search_index.index(entries, "zh", words))
    assert [doc["words"] for doc in index["docs"]] == ["a, b", "axis, 轴, 维度", "Encoder, decoder"]
    assert index["config"]["same"] == [
        ["√", "sqrt"],
        ["Axis", "轴"],
        ["Encoder", "编码器"],
        ["decoder", "解码器"],
    ]


def test_an_anchor_is_a_word_too_without_the_number_of_its_question() -> None:
    index = search_index.index([entry("x.html#q13-no-copy", "A title")], "zh", search_index.Words())
    assert json.loads(index)["docs"][0]["said"] == "no copy"


def test_no_words_without_a_file(tmp_path: Path) -> None:
    assert search_index.Words.load(tmp_path / "search.toml") == search_index.Words()


def test_links_speak_of_what_they_lead_to() -> None:
    html = """<p>See <a href="../a.html#b">this</a>, <a class="term" href="#c">that</a>.</p>
    <table><tr><td>what you see</td><td><a href="d.html">X1</a></td></tr></table>"""
    links = list(search_index.links(html, "en/chapters/x.html"))
    assert links == [("en/a.html#b", "this"), ("en/chapters/d.html", "what you see X1")]
    entries = [entry("en/x.html", "X", links=links), entry("en/a.html#b", "B")]
    docs = json.loads(search_index.index(entries, "en", search_index.Words()))["docs"]
    assert docs[1]["said"] == "this, b"
