"""Numbers in prose are bound by the ledger, and are what its expressions give."""

import pytest
from sample_site import Site, places

CONFIG = 'bindings = "docs/bindings"\n'
BLOCK = """
```python
num_heads, seq_len, batch = 4, 5, 2
weights = [0.125, 0.25, 0.625]
share = sum(weights)
print(0.4217, 65504)
```

<!--pytest-codeblocks:expected-output-->
```text
0.4217 65504
```

"""
LINE = BLOCK.count("\n") + 2  # below a heading and an empty line


@pytest.fixture
def bound(site: Site) -> Site:
    site.configure(CONFIG)
    return site


def page(site: Site, prose: str, ledger: str) -> list[str]:
    """What is found on a page with that prose below its block, as `path:line: message`."""
    site.write("docs/bindings/README.toml", ledger)
    found = site.page(f"# A {{#a}}\n{BLOCK}{prose}\n")
    return [f"{one.path}:{one.line}: {one.message} | {one.remedy}" for one in found]


RIGHT = [
    ("There are 4 heads.", '"4 heads" = "num_heads"'),
    ("There are four heads.", '"four heads" = "num_heads"'),
    ("Half of the heads rest.", '"Half of" = "batch / num_heads"'),
    ("Twice as many as sentences.", '"Twice as" = "num_heads / batch"'),
    ("The largest is 0.42.", '"is 0.42" = "printed(1)"'),
    ("It ends at 65504.", '"at 65504" = "printed(2)"'),
    ("It is about 66 000.", '"about 66 000" = "printed(2)"'),
    ("It is more than 65000.", '"than 65000" = "printed(2)"'),
    ("Three words:\n\n- a\n- b\n- c", '"Three words" = "items()"'),
    ("Two rows:\n\n| a | b |\n|---|---|\n| c | d |\n| e | f |", '"Two rows" = "rows()"'),
    ("Two columns:\n\n| a | b |\n|---|---|\n| c | d |", '"Two columns" = "columns()"'),
    ("Three steps: split, attend, merge.", '"Three steps" = "listed()"'),
    ("It keeps three axes, `(batch, num_heads, seq_len)`{.text}.", '"three axes" = "parts()"'),
    ("Each gets 12.5% at least.", '"12.5% at" = "weights[0]"'),
    ("They are 0.125, 0.25 and 0.625.", '"are 0.125, 0.25 and 0.625" = "weights"'),
    ("They sum to 1.", '"to 1" = "share"'),
    ("The paper has 8 heads.", '"8 heads" = "facts.paper_heads"'),
    ("It has π to 3.14.", '"to 3.14" = "math.pi"'),
    (
        "More than 3 and less than 5: 4.",
        '"3 and" = "num_heads"\n"than 5" = "num_heads"\n"4" = "num_heads"',
    ),
    ("It takes 4 to 5.", '"4 to" = "num_heads"\n"to 5" = "_ == seq_len"'),
    ("Four lines of code.", '"Four lines" = "lines()"'),
    ("Two lines:\n\n```toml\na = 1\nb = 2\n```", '"Two lines" = "lines()"'),
    ("It is `batch` and `seq_len`, these two.", '"these two" = "spans()"'),
    ("Two blocks, no: one.", '"Two blocks" = "blocks() + 1"'),
    ("A section twice.\n\n## B {#b-1}\n\n## C {#b-2}", '"section twice" = "sections(\'b-\')"'),
    (
        "It prints 65504 twice over.",
        '"65504 twice" = "coded(\'0.4217, _\')"\n"twice over" = "batch"',
    ),
    ("See [4 heads](#a).", '"4 heads" = "num_heads"'),
    (
        "| heads | 4 |\n|---|---|\n| tokens | 5 |",
        '"heads | 4" = "num_heads"\n"tokens | 5" = "seq_len"',
    ),
    ("![Four heads](x.png)", '"Four heads" = "num_heads"'),
    (
        "There are four heads. All four heads.",
        '"four heads" = "num_heads"\n"four heads #2" = "num_heads"',
    ),
    ("一共 4 个头。", '"4 个头" = "num_heads"'),
]


@pytest.mark.parametrize(("prose", "entries"), RIGHT)
def test_right_number_holds(bound: Site, prose: str, entries: str) -> None:
    bound.write("x.png", "")
    bound.write(
        "docs/bindings/facts.toml", 'paper_heads = { value = 8, source = "Vaswani et al. 2017" }'
    )
    assert page(bound, prose, f"[a]\n{entries}\n") == []


WRONG = [
    ("There are 6 heads.", '"6 heads" = "num_heads"', "says 6; num_heads is 4"),
    ("There are six heads.", '"six heads" = "num_heads"', "says six; num_heads is 4"),
    ("一共六个头。", '"六 个头" = "num_heads"', "says 六; num_heads is 4"),
    ("A third of them rest.", '"A third of" = "batch / num_heads"', "batch / num_heads is 0.5"),
    ("The largest is 0.43.", '"is 0.43" = "printed(1)"', "says 0.43; printed(1) is 0.4217"),
    ("It ends at 65505.", '"at 65505" = "printed(2)"', "printed(2) is 65504"),
    ("It is about 90 000.", '"about 90 000" = "printed(2)"', "says about 90 000"),
    ("It is more than 66000.", '"than 66000" = "printed(2)"', "says more than 66000"),
    ("At most 3 heads.", '"3 heads" = "num_heads"', "says at most 3; num_heads is 4"),
    ("Four words:\n\n- a\n- b\n- c", '"Four words" = "items()"', "items() is 3"),
    ("Three rows:\n\n| a |\n|---|\n| c |", '"Three rows" = "rows()"', "rows() is 1"),
    ("Four steps: split, attend, merge.", '"Four steps" = "listed()"', "listed() is 3"),
    ("See [6 heads](#a).", '"6 heads" = "num_heads"', "num_heads is 4"),
    ("| heads |\n|---|\n| 6 |", '"6" = "num_heads"', "num_heads is 4"),
    ("![Six heads](x.png)", '"Six heads" = "num_heads"', "num_heads is 4"),
    ("They are 0.125 and 0.25.", '"are 0.125 and 0.25" = "weights"', "weights is [0.125"),
    ("It takes 6.", '"takes 6" = "_ == seq_len"', "_ == seq_len is False for 6"),
]


@pytest.mark.parametrize(("prose", "entry", "truth"), WRONG)
def test_wrong_number_fails_with_the_truth_and_the_way_to_mend_it(
    bound: Site, prose: str, entry: str, truth: str
) -> None:
    bound.write("x.png", "")
    (found,) = page(bound, prose, f"[a]\n{entry}\n")
    line = LINE + next(n for n, one in enumerate(prose.split("\n")) if any(map(str.isalnum, one)))
    assert found.startswith(f"README.md:{line}") or "|" in prose
    assert truth in found
    assert "write what is true, or correct docs/bindings/README.toml:2" in found


BAD = [
    (
        "There are 4 heads.",
        "",
        'nothing says what "4 heads" is',
        "python -m proseproof bind README.md",
    ),
    ("There are 4 heads.", '"4 heads" = "?"', 'nobody has said what "4 heads" is', "README.toml:2"),
    ("There are 4 heads.", '"4 heads" = "heads"', "there is no heads here", "README.toml:2"),
    ("There are 4 heads.", '"4 heads" = "4"', "4 names nothing of the code", "README.toml:2"),
    (
        "There are 4 heads.",
        '"4 heads" = "num_heads / (batch - 2)"',
        "ZeroDivisionError",
        "README.toml:2",
    ),
    ("There are 4 heads.", '"4 heads" = "num_heads +"', "is no Python expression", "README.toml:2"),
    ("There are 4 heads.", '"4 heads" = "facts.heads"', "facts.toml has no heads", "README.toml:2"),
    (
        "There are 4 heads.",
        '"4 heads" = "num_heads == 4"',
        "is True, and no number",
        "README.toml:2",
    ),
    (
        "There are 4 heads.",
        '"4 heads" = "printed(9)"',
        "the block prints 2 numbers",
        "README.toml:2",
    ),
    ("There are 4 heads.", '"4 heads" = "items()"', "no list follows", "README.toml:2"),
    ("There are 4 heads.", '"4 heads" = "listed()"', "lists nothing", "README.toml:2"),
    ("There are 4 heads.", '"4 heads" = "parts()"', "no code of several parts", "README.toml:2"),
    (
        "There are 4 heads.",
        '"4 heads" = "coded(\'n = _\')"',
        "stands for 0 numbers",
        "README.toml:2",
    ),
    (
        "There are 4 heads.",
        '"4 heads" = "#b num_heads"',
        "#b num_heads: there is no such block",
        "README.toml:2",
    ),
    ("There are ４ heads.", "", "full-width digits: ４", "write 4"),
]


@pytest.mark.parametrize(("prose", "entry", "message", "remedy"), BAD)
def test_bad_input_is_a_clear_failure_of_its_line(
    bound: Site, prose: str, entry: str, message: str, remedy: str
) -> None:
    (found,) = page(bound, prose, f"[a]\n{entry}\n")
    assert found.startswith(f"README.md:{LINE}: ")
    assert message in found
    assert remedy in found


def test_entry_whose_number_is_gone_fails_in_the_ledger(bound: Site) -> None:
    (found,) = page(bound, "Nothing here.", '[a]\n"4 heads" = "num_heads"\n')
    assert found.startswith('docs/bindings/README.toml:2: "4 heads" is no longer in section [a]')


def test_entry_of_a_formula_is_left_to_the_proof_of_formulas(bound: Site) -> None:
    assert page(bound, "Nothing here.", "[a]\n'$d_k$' = \"num_heads\"\n") == []


def test_number_changed_on_the_page_alone_is_caught_twice(bound: Site) -> None:
    found = page(bound, "There are 6 heads.", '[a]\n"4 heads" = "num_heads"\n')
    assert len(found) == 2
    assert 'nothing says what "6 heads" is' in found[0]
    assert '"4 heads" is no longer' in found[1]


def test_name_with_a_number_has_to_be_listed(bound: Site) -> None:
    assert page(bound, "See step 3.", '[a]\nnames = ["step 3"]\n') == []
    (found,) = page(bound, "See step 4.", '[a]\nnames = ["step 3"]\n')
    assert found.startswith(f"README.md:{LINE}: ")
    assert 'here is "step 4", and [a] of docs/bindings/README.toml has "step 3"' in found
    (found,) = page(bound, "Nothing.", '[a]\nnames = ["step 3"]\n')
    assert "here is no further name" in found


def test_ledger_that_cannot_be_read_fails_its_page_alone(bound: Site) -> None:
    bound.write("docs/bindings/README.toml", "[a]\n4 heads = x\n")
    bound.write("README.md", "# A {#a}\n\nThere are 4 heads.\n")
    bound.write("docs/other.md", "# B {#b}\n\nNothing.\n")
    (found,) = bound.prove("README.md")
    assert (found.path, found.line) == ("docs/bindings/README.toml", 2)
    assert bound.prove("docs/other.md") == []
    said = bound.run("pytest").stdout
    assert "docs/bindings/README.toml:2" in said
    assert "2 failed" not in said


@pytest.mark.parametrize("ledger", ["x = 1\n", "[a]\nx = 1\n"])
def test_ledger_of_another_form_is_refused(bound: Site, ledger: str) -> None:
    bound.write("docs/bindings/README.toml", ledger)
    (found,) = bound.page("# A {#a}\n")
    assert found.path == "docs/bindings/README.toml"


def test_fact_needs_its_source(bound: Site) -> None:
    bound.write("docs/bindings/facts.toml", "heads = 8\n")
    (found,) = page(bound, "The paper has 8 heads.", '[a]\n"8 heads" = "facts.heads"\n')
    assert 'heads is written { value = 8, source = "…" }' in found


def test_expression_may_name_the_block_of_another_section(bound: Site) -> None:
    text = "# A {#a}\n\nThere are 4 heads.\n\n```python\nn = 1\n```\n\n## B {#b}\n\n"
    text += "```python\nheads = 2\n```\n\n```python\nheads = 4\n```\n"
    bound.write("docs/bindings/README.toml", '[a]\n"4 heads" = "#b.2 heads"\n')
    assert bound.page(text) == []
    bound.write("docs/bindings/README.toml", '[a]\n"4 heads" = "#b heads"\n')
    (found,) = bound.page(text)
    assert "heads is 2" in found.message


def test_page_without_a_block_is_judged_too(bound: Site) -> None:
    bound.write("docs/bindings/README.toml", '[a]\n"3.14 is" = "math.pi"\n')
    assert bound.page("# A {#a}\n\nSo 3.14 is known.\n") == []
    assert places(bound.page("# A {#a}\n\nSo 3.15 is known.\n")) != []


def test_expression_must_not_change_what_the_next_are_judged_by(bound: Site) -> None:
    (found,) = page(
        bound, "There are 3 weights.", '[a]\n"3 weights" = "len(weights.pop() and weights) + 1"\n'
    )
    assert "changes weights" in found


def test_description_and_heading_are_read(bound: Site) -> None:
    found = bound.page(f"---\ndescription: Four heads\n---\n\n# Two heads {{#a}}\n{BLOCK}")
    assert [one.message for one in found] == [
        'nothing says what "Four heads" is',
        'nothing says what "Two heads" is',
    ]
    assert [one.line for one in found] == [2, 5]


def test_page_that_is_still_to_do_is_not_judged_until_a_number_is_bound(site: Site) -> None:
    site.configure(CONFIG + 'unbound = ["README.md"]\n')
    assert site.page("There are 4 heads.\n") == []
    site.write("docs/bindings/README.toml", "[a]\n'$x$' = 'term()'\n")
    assert site.page("There are 4 heads.\n") == []  # a formula is no number
    site.write("docs/bindings/README.toml", '[""]\n"4 heads" = "len([])"\n')
    assert "len([]) is 0" in site.page("There are 4 heads.\n")[0].message


def test_lab_is_judged_beside_its_cells(bound: Site) -> None:
    lab = "# %% [markdown]\n# # A {{#a}}\n#\n# There are {} heads.\n\n# %%\nheads = 4\n"
    bound.write("docs/labs/x.py", lab.format("four"))
    bound.write("docs/bindings/docs/labs/x.toml", '[a]\n"four heads" = "heads"\n')
    bound.run("proseproof", "update")
    assert bound.prove("docs/labs/x.py") == []
    bound.write("docs/labs/x.py", lab.format("five"))
    bound.write("docs/bindings/docs/labs/x.toml", '[a]\n"five heads" = "heads"\n')
    assert "heads is 4" in bound.prove("docs/labs/x.py")[0].message


def test_kept_proof_is_made_anew_when_an_entry_changes(bound: Site) -> None:
    assert page(bound, "There are 4 heads.", '[a]\n"4 heads" = "num_heads"\n') == []
    assert page(bound, "There are 4 heads.", '[a]\n"4 heads" = "num_heads"\n') == []
    (found,) = page(bound, "There are 4 heads.", '[a]\n"4 heads" = "seq_len"\n')
    assert "seq_len is 5" in found


def test_kept_proof_is_made_anew_when_a_fact_changes(bound: Site) -> None:
    ledger = '[a]\n"8 heads" = "facts.heads"\n'
    bound.write("docs/bindings/facts.toml", 'heads = { value = 8, source = "x" }')
    assert page(bound, "The paper has 8 heads.", ledger) == []
    bound.write("docs/bindings/facts.toml", 'heads = { value = 16, source = "x" }')
    (found,) = page(bound, "The paper has 8 heads.", ledger)
    assert "facts.heads is 16" in found


def test_number_that_hangs_on_an_unseeded_draw_is_caught(bound: Site) -> None:
    block = "```python\nimport random\n\nn = random.randint(10, 10**6)\n```\n"
    text = f"# A {{#a}}\n\n{block}\nIt is NUMBER.\n"
    bound.write("docs/bindings/README.toml", '[a]\n"is 7" = "n"\n')
    (found,) = bound.page(text.replace("NUMBER", "7"))
    drawn = found.message.rpartition(" ")[2]
    bound.write("docs/bindings/README.toml", f'[a]\n"is {drawn}" = "n"\n')
    (found,) = bound.page(text.replace("NUMBER", drawn))
    assert "draws random numbers without a seed" in found.message


def test_file_that_belongs_to_no_page_and_fact_that_nobody_uses_are_found(bound: Site) -> None:
    bound.write("README.md", "# A {#a}\n")
    bound.write("docs/bindings/gone.toml", "")
    bound.write("docs/bindings/facts.toml", '# b\nx = { value = 8, source = "y" }\n')
    assert [str(one).partition("\n")[0] for one in bound.findings_of_project()] == [
        "docs/bindings/gone.toml:1: this file belongs to no page",
        "docs/bindings/facts.toml:2: no entry uses the fact x",
    ]
