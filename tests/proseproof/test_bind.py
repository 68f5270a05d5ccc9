"""`bind` guesses what numbers are, adds what is new, and never launders a mistake."""

import pytest
from sample_site import Site

from proseproof.bind import Bound, bind

BLOCK = """
```python
from types import SimpleNamespace

num_heads, seq_len, layers = 4, 5, [1, 2, 3]
steps = 100
model = SimpleNamespace(num_blocks=6, stages=[1, 2], ndim=2, parameters=())
made = dict(size=7)
for seed in range(2):
    tries = [depth * seed for depth in (9, 12)]
print(0.4217)
print("8 words cost 480, and before 60")
```

<!--pytest-codeblocks:expected-output-->
```text
0.4217
8 words cost 480, and before 60
```

"""
FILE = "docs/bindings/README.toml"


@pytest.fixture
def bound(site: Site) -> Site:
    site.configure('bindings = "docs/bindings"\n')
    site.write(
        "docs/bindings/words.toml",
        '[words]\ntoken = "seq_len"\naxes = ["any.ndim"]\n"sum to" = ["seq_len - 4"]\n',
    )
    return site


def bind_page(site: Site, prose: str) -> Bound:
    site.write("README.md", f"# A {{#a}}\n{BLOCK}{prose}\n")
    return bind(site.project, "README.md")


def guessed(site: Site, prose: str) -> dict[str, str]:
    """What `bind` makes of a sentence."""
    done = bind_page(site, prose)
    return {claim.key: found.expression if found else "?" for claim, found in done.guesses}


@pytest.mark.parametrize(
    ("prose", "key", "expression"),
    [
        ("There are 4 heads.", "4 heads", "num_heads"),  # a name with the noun in it
        ("Three layers follow.", "Three layers", "len(layers)"),
        ("Five tokens come.", "Five tokens", "seq_len"),  # the word list
        ("They sum to 1.", "to 1", "seq_len - 4"),
        ("Two new things:\n\n- a\n- b", "Two new", "items()"),
        ("Three steps: split, attend, merge.", "Three steps", "listed()"),
        ("It is written five times, as `seq_len = 5`.", "five times", "seq_len"),
        ("It ends at 0.42.", "at 0.42", "printed(1)"),
        ("It keeps two axes, `(num_heads, seq_len)`{.text}.", "two axes", "parts()"),
        ("It goes on for 100.", "for 100", "coded('steps = _')"),
        ("All four heads, all four.", "all four", "num_heads"),  # as before
        (
            "Six blocks, or two stages.",
            "Six blocks",
            "model.num_blocks",
        ),  # of something that is there
        ("Six blocks, or two stages.", "two stages", "len(model.stages)"),
        ("A size of 7 will do.", "7 will", "coded('size=_')"),  # a keyword
        ("It takes two seeds.", "two seeds", "coded('seed in range(_')"),
        ("It takes two depths.", "two depths", "len(coded('depth in (_'))"),
        ("Eight words are read.", "Eight words", "printed(2)"),  # its label stands beside it
        ("It costs eight times as much.", "eight times", "printed(3) / printed(4)"),
        ("Written twice: a line, and another.", "Written twice", "?"),
        ("They are numbered 0 to 4.", "0 to", "range(seq_len)[0]"),
        ("They are numbered 0 to 4.", "to 4", "range(seq_len)[-1]"),
        ("Here are two axes.", "two axes", "model.ndim"),
        ("Three colours.", "Three colours", "?"),  # a coincidence is no guess
        ("It turns the last two axes.", "two axes", "?"),
        ("It isn't 4 heads.", "4 heads", "?"),
        ("It costs five times as much.", "five times", "?"),
        ("Three of them: red and green, or blue.", "Three of", "?"),
        ("The three meet: this is so, that is so, and more.", "three meet", "?"),
        ("Layers with three.", "with three", "?"),
    ],
)
def test_number_finds_its_value(bound: Site, prose: str, key: str, expression: str) -> None:
    found = guessed(bound, prose)
    assert found[key] == expression
    if expression != "?":
        assert bound.prove("README.md") == []


def test_open_entry_fails_until_its_author_writes_an_expression(bound: Site) -> None:
    bind_page(bound, "Three colours.")
    assert '"Three colours" = "?"' in (bound.root / FILE).read_text()
    assert "nobody has said" in bound.prove("README.md")[0].message


def test_page_counts_its_sections_where_it_begins(bound: Site) -> None:
    below = "\n\n## A {#q1-a}\n\n## B {#q2-b}\n\n## Next {#next}\n\nTwo answers."
    found = bind_page(bound, "Two questions, three parts." + below).guesses
    assert [one.expression if one else "?" for _, one in found] == [
        "sections('q[0-9]')",
        "sections()",
        "?",  # below, it need not be those
    ]


def test_open_entry_takes_what_its_author_wrote_beside_it(bound: Site) -> None:
    prose = "Three colours, and again three colours.\n\n## B {#b}\n\nThree bright colours, not two."
    bind_page(bound, prose)
    file = bound.root / FILE
    file.write_text(file.read_text().replace('"?"', '"num_heads - 1"', 1))
    bind_page(bound, prose)
    assert file.read_text().count('"num_heads - 1"') == 2  # not in the other section
    assert '"three colours" = "num_heads - 1"' in file.read_text()
    assert file.read_text().count('"?"') == 2


def test_what_its_author_wrote_is_taken_for_the_same_words_elsewhere(bound: Site) -> None:
    prose = "Two colours.\n\n## B {#b}\n\nTwo colours, and two lights."
    assert set(guessed(bound, prose).values()) == {"?"}
    file = bound.root / FILE
    file.write_text(file.read_text().replace('"?"', '"num_heads - 2"', 1))
    assert guessed(bound, prose) == {"Two colours": "num_heads - 2", "two lights": "?"}


def test_rare_number_is_found_on_the_whole_page(bound: Site) -> None:
    block = "```python\nlow = -1e9\n```\n"
    found = guessed(bound, f"With −1e9.\n\n## B {{#b}}\n\n{block}\n## C {{#c}}\n\nA −1e9 too.")
    assert found == {"With −1e9": "#b coded('low = _')", "−1e9 too": "coded('low = _')"}


def test_untouched_lines_stay_byte_for_byte_and_new_ones_come_in_order(bound: Site) -> None:
    bind_page(bound, "There are 4 heads.\n\n## B {#b}\n\nThree layers.")
    file = bound.root / FILE
    text = file.read_text().replace('"num_heads"', "'num_heads'  # the author's own")
    file.write_text(text)
    bind_page(bound, "There are 4 heads.\n\n## B {#b}\n\nFive tokens. Three layers.")
    assert file.read_text() == text.replace("[b]\n", '[b]\n"Five tokens" = "seq_len"\n')
    bind_page(
        bound,
        "There are 4 heads.\n\n## C {#c}\n\nSee step 2.\n\n## B {#b}\n\nFive tokens. Three layers.",
    )
    again = file.read_text()
    assert again.index("[a]") < again.index("[c]") < again.index("[b]")
    assert 'names = ["step 2"]' in again
    assert "# the author's own" in again
    bind(bound.project, "README.md")
    assert file.read_text() == again


def test_number_that_merely_changed_is_refused(bound: Site) -> None:
    bind_page(bound, "There are 4 heads.")
    before = (bound.root / FILE).read_text()
    done = bind_page(bound, "There are 6 heads.")
    assert [(entry.key, claim.key) for entry, claim, _ in done.refused] == [("4 heads", "6 heads")]
    assert "says 6; num_heads is 4" in done.refused[0][2]
    assert (bound.root / FILE).read_text() == before


def test_entry_moves_along_when_words_change_and_the_number_stays(bound: Site) -> None:
    bind_page(bound, "There are 4 heads.")
    done = bind_page(bound, "There are 4 narrow heads.")
    assert [(entry.key, claim.key) for entry, claim in done.moved] == [("4 heads", "4 narrow")]
    assert '"4 narrow" = "num_heads"' in (bound.root / FILE).read_text()
    assert bound.prove("README.md") == []


def test_entry_moves_along_when_page_and_code_change_together(bound: Site) -> None:
    bind_page(bound, "There are 4 heads.")
    text = (bound.root / "README.md").read_text()
    bound.write("README.md", text.replace("4 heads", "6 heads").replace("= 4,", "= 6,"))
    done = bind(bound.project, "README.md")
    assert done.moved and not done.refused
    assert bound.prove("README.md") == []


def test_names_are_written_anew(bound: Site) -> None:
    bind_page(bound, "See step 2, and float16.")
    assert 'names = ["step 2", "float16"]' in (bound.root / FILE).read_text()
    assert bound.prove("README.md") == []
    bind_page(bound, "See step 3.")
    assert 'names = ["step 3"]' in (bound.root / FILE).read_text()
    bind_page(bound, "Nothing.")
    assert "names" not in (bound.root / FILE).read_text()


def test_command_shows_each_guess_with_its_sentence(bound: Site) -> None:
    bound.write("README.md", f"# A {{#a}}\n{BLOCK}There are 4 heads. Three colours.\n")
    done = bound.run("proseproof", "bind", "README.md")
    assert (
        'README.md:22: "4 heads" = num_heads   (sure: heads)\n    There are 4 heads.' in done.stdout
    )
    assert '"Three colours" = ?\n    Three colours.' in done.stdout
    assert done.returncode == 1
    assert bound.run("proseproof", "bind", "nowhere.md").returncode == 2


def test_chinese_page_leads_to_the_english_one(site: Site) -> None:
    site.configure('bindings = "docs/bindings"\n')
    site.pair(f"# 甲 {{#a}}\n{BLOCK}四个头。\n", f"# A {{#a}}\n{BLOCK}Four heads.\n")
    site.run("proseproof", "bind", "docs/zh/x.md")
    assert '"Four heads" = "num_heads"' in (site.root / "docs/bindings/x.toml").read_text()


def test_without_a_folder_nothing_is_bound(site: Site) -> None:
    done = site.run("proseproof", "bind")
    assert (done.returncode, "names no folder" in done.stderr) == (2, True)


def test_lab_is_bound_beside_its_cells(bound: Site) -> None:
    lab = "# %% [markdown]\n# # A {#a}\n#\n# Here are 4 heads.\n\n# %%\nheads = 4\n"
    bound.write("docs/labs/x.py", lab)
    done = bind(bound.project, "docs/labs/x.py")
    assert [found.expression for _, found in done.guesses if found] == ["heads"]
