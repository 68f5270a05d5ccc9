"""Every page with blocks is a notebook that installs what it needs and runs as it is."""

import json

from sitekit import notebooks

PAGE = """# A title {#title}

See [this](../other.md#part), `(2, 3)`{.text} and ![a figure](../../assets/a.svg).

<!--proseproof: silent-->
```python
x = 1
print(x)
```

<!--pytest-codeblocks:expected-output-->
```text
1
```

??? question "Why?"

    Because of this.

    ```python
    y = 2
    ```

The short answer. { .answer }

```python title="src/headwise/x.py"
z = 3
```
"""


def cells(page: str) -> list[tuple[str, str]]:
    notebook = notebooks.from_page(page)
    assert notebook is not None
    text = notebooks.for_readers(
        notebook, "https://site.org/en/gpu/x.html", "https://github.com/a/b"
    )
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]


def test_page_becomes_a_notebook_whose_cells_are_its_blocks() -> None:
    kinds, texts = zip(*cells(PAGE), strict=True)
    assert kinds == ("code", "markdown", "code", "markdown", "code", "markdown")
    install, first, block, folded, inside, last = texts
    assert '%pip install -q "headwise[drawing,models] @ git+https://github.com/a/b"' in install
    assert first == (
        "# A title\n\nSee [this](https://site.org/en/other.html#part), `(2, 3)` "
        "and ![a figure](https://site.org/assets/a.svg)."
    )
    assert block == "x = 1\nprint(x)"
    assert folded == "<details><summary>Why?</summary>\n\nBecause of this.\n\n</details>"
    assert inside == "y = 2"
    assert last.startswith("The short answer.\n") and "```python title=" in last
    assert "```text" not in last


def test_what_is_guessed_stays_folded_and_its_output_is_the_cells() -> None:
    guess = """```python
print(6 * 7)
```

??? question "How much?"

    <!--pytest-codeblocks:expected-output-->

    ```text
    42
    ```

    The answer.

??? example "Solution"

    In the open.
"""
    _, block, after = cells(guess)
    assert block == ("code", "print(6 * 7)")
    hidden = "<details><summary>How much?</summary>\n\nThe answer.\n\n</details>"
    assert after == ("markdown", f"{hidden}\n\n**Solution**\n\nIn the open.")


def test_page_without_blocks_has_no_notebook() -> None:
    assert notebooks.from_page('# Title\n\n```python title="x.py"\nz = 3\n```\n') is None


def test_install_comes_first_and_only_where_the_library_is_missing() -> None:
    kind, source = cells(PAGE)[0]
    assert kind == "code"
    lines = source.splitlines()
    assert lines[:3] == ["try:", "    import headwise", "except ImportError:"]


def test_block_that_holds_a_fence_is_one_cell() -> None:
    code = "text = '''\n```python\nx = 1\n```\n'''"
    (_, install), *rest = cells(f"````python\n{code}\n````\n\nAnd so on.\n")
    assert rest == [("code", code), ("markdown", "And so on.")]
    assert "proseproof" not in install


def test_notebook_that_runs_proofs_installs_the_prover() -> None:
    (_, install), *_ = cells("```python\nimport proseproof\n```\n")
    assert install.splitlines()[1] == "    import headwise, proseproof"
    assert 'proseproof @ git+https://github.com/a/b#subdirectory=src/proseproof"' in install


def test_instrument_is_its_figure_and_a_link_to_where_it_can_be_handled() -> None:
    place = '<div class="instrument" data-instrument="x"{} markdown>\n\n![a](../f/a.svg)\n\n</div>'
    button = place.format(' data-button="Turn it"')
    page = f"Here:\n\n{button}\n\nAnd:\n\n{place.format('')}\n\n```python\nx = 1\n```"
    figure, address = "![a](https://site.org/en/f/a.svg)", "https://site.org/en/gpu/x.html"
    assert cells(page)[1][1] == (
        f"Here:\n\n{figure}\n\n[Turn it]({address})\n\nAnd:\n\n[{figure}]({address})"
    )
