"""Every fence is run, compared, quoted or not code; nothing is left out in silence."""

import pytest
from sample_site import Site, places


def test_every_known_kind_of_fence_is_accounted_for(site: Site) -> None:
    site.write("src/lib.py", "def double(x):\n    return 2 * x\n")
    site.write("Makefile", "test:\n\techo\n")
    text = """
        # Page {#page}

        ```python title="src/lib.py"
        --8<-- "src/lib.py:double"
        ```

        ```python hl_lines="1"
        print(2 + 2)
        ```

        <!--pytest-codeblocks:expected-output-->

        ```text
        4
        ```

        ```console
        make test
        ```
        """
    assert site.page(text) == []
    proof = site.proof("README.md")
    proof.whole()
    assert (proof.entry.shown, proof.entry.accounted) == (4, 4)


@pytest.mark.parametrize(
    "info",
    [
        "py",
        "Python",
        "pycon",
        "python3",
        "{.python .annotate}",
        " python",
        "python {.x}",
        "",
        "java",
    ],
)
def test_fence_that_would_silently_not_run_is_refused(site: Site, info: str) -> None:
    findings = site.page(f"Text.\n\n```{info}\nx = 1\n```\n")
    assert places(findings) == ["README.md:3"]
    assert findings[0].remedy


def test_tilde_fence_is_refused(site: Site) -> None:
    assert places(site.page("~~~python\nx = 1\n~~~\n")) == ["README.md:1"]


def test_fence_behind_a_list_mark_is_refused(site: Site) -> None:
    assert places(site.page("- ```python\n  x = 1\n  ```\n"))[0] == "README.md:1"


@pytest.mark.parametrize(
    "opening", ['=== "Tab"', "!!! note", '??? question "Why"', "1. First", "- Item"]
)
def test_blank_lines_survive_in_indented_blocks(site: Site, opening: str) -> None:
    text = (
        f"{opening}\n\n    ```python\n    text = '''a\n\n    b'''\n\n    print(text)\n    ```\n\n"
        "    <!--pytest-codeblocks:expected-output-->\n    ```text\n    a\n\n    b\n    ```\n"
    )
    assert site.page(text) == []
    assert places(site.page(text.replace("    a\n\n    b\n", "    a\n    b\n"))) == ["README.md:12"]


def test_block_inside_two_containers_is_run(site: Site) -> None:
    text = '=== "Tab"\n\n    !!! note\n\n        ```python\n        1 / 0\n        ```\n'
    assert places(site.page(text)) == ["README.md:6"]


def test_indented_code_is_refused(site: Site) -> None:
    assert places(site.page("Text.\n\n    x = 1\n")) == ["README.md:3"]


def test_paragraph_inside_a_list_is_not_taken_for_code(site: Site) -> None:
    text = "1. First\n\n    More of the first.\n\n    - inner\n\n        deeper\n\n2. Second\n"
    assert site.page(text) == []


@pytest.mark.parametrize("tag", ["<pre>x = 1</pre>", "<code>x = 1</code>"])
def test_code_in_html_is_refused(site: Site, tag: str) -> None:
    assert places(site.page(f"Text.\n\n{tag}\n")) == ["README.md:3"]


def test_python_in_a_text_fence_is_refused(site: Site) -> None:
    assert places(site.page("```text\nimport os\nprint(os.name)\n```\n")) == ["README.md:1"]


def test_unmarked_output_below_a_block_is_refused(site: Site) -> None:
    assert "README.md:5" in places(site.page("```python\nx = 4\n```\n\n```text\n4\n```\n"))


def test_listing_with_more_than_its_include_is_refused(site: Site) -> None:
    site.write("src/lib.py", "A = 1\n")
    text = '```python title="src/lib.py"\n--8<-- "src/lib.py:A"\nB = 2\n```\n'
    assert places(site.page(text)) == ["README.md:1"]


def test_listing_of_a_missing_name_shows_near_ones(site: Site) -> None:
    site.write("src/lib.py", "def double(x):\n    return 2 * x\n")
    text = 'Text.\n\n```python title="src/lib.py"\n--8<-- "src/lib.py:duoble"\n```\n'
    findings = site.page(text)
    assert places(findings) == ["README.md:3"]
    assert "double" in findings[0].message


def test_listing_says_where_it_is_from(site: Site) -> None:
    site.write("src/lib.py", "A = 1\n")
    findings = site.page('```python\n--8<-- "src/lib.py:A"\n```\n')
    assert places(findings) == ["README.md:1"]
    assert 'title="src/lib.py"' in findings[0].remedy


@pytest.mark.parametrize(
    "comment",
    [
        "pytest-codeblocks:cont",
        "pytest-codeblocks:skip",
        "pytest.mark.skip",
        "pytest-codeblocks:expected-output-ignore-whitespace",
        "proseproof: skip",
        "proseproof: gpus",
        "proseproof: raises",
        "proseproof: raises ValueError too long",
        "proseproof: gpu",
    ],
)
def test_mark_that_would_do_nothing_or_too_much_is_refused(site: Site, comment: str) -> None:
    assert "README.md:3" in places(site.page(f"Text.\n\n<!--{comment}-->\n```python\nx = 1\n```\n"))


def test_mark_before_nothing_is_refused(site: Site) -> None:
    assert places(site.page("<!--proseproof: silent-->\n\nText.\n")) == ["README.md:1"]


def test_skip_with_a_reason_is_reported(site: Site) -> None:
    site.write("README.md", "<!--proseproof: skip: needs two GPUs-->\n```python\n1 / 0\n```\n")
    proof = site.proof("README.md")
    assert proof.whole() == []
    assert [(one.kind, one.reason) for one in proof.entry.blocks] == [("skipped", "needs two GPUs")]


def test_console_names_only_what_exists(site: Site) -> None:
    site.write("Makefile", "serve:\n\techo\n")
    assert site.page("```console\nmake serve\npython -m pytest README.md\n```\n") == []
    findings = site.page("```console\nmake serve\nmake sevre\npytest docs/none.md\n```\n")
    assert places(findings) == ["README.md:3", "README.md:4"]


def test_link_has_to_lead_somewhere(site: Site) -> None:
    site.write("docs/zh/a.md", "# 一 {#one}\n")
    assert site.page("[a](docs/zh/a.md#one), [web](https://example.org)\n") == []
    assert places(site.page("Text\n[a](docs/zh/b.md)\n")) == ["README.md:2"]
    assert places(site.page("Text\n\n[a](docs/zh/a.md#two)\n")) == ["README.md:3"]


def test_figure_needs_alt_text_and_a_file(site: Site) -> None:
    site.write("docs/a.png", "")
    assert site.page("![Two bars](docs/a.png)\n") == []
    assert places(site.page("\n![](docs/a.png)\n")) == ["README.md:1"]
    assert places(site.page("Text\n\n![Two bars](docs/b.png)\n")) == ["README.md:3"]


def test_heading_of_a_translated_page_needs_an_anchor(site: Site) -> None:
    site.pair("# 一 {#one}\n\n## 二\n", "# One {#one}\n\n## Two\n")
    assert "docs/zh/x.md:3" in places(site.proof("docs/zh/x.md").accounted())


def test_shell_block_is_run_and_may_fail(site: Site) -> None:
    assert site.page("```sh\ntrue\n```\n") == []
    assert places(site.page("```sh\nfalse\n```\n")) == ["README.md:1"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Text\n\n```python\nx = 1\n", 3),
        ("---\ntitle: [\n---\n\nText\n", 2),
        ("---\n- a\n---\n\nText\n", 1),
        ("---\ntitle: a\n\nText\n", 1),
        ("Text\n\n<!-- open\n", 3),
        ("Text\n\n!!! note\n\n    ```python\n    x = 1\n  ```\n", 7),
    ],
)
def test_malformed_page_is_caught_at_its_line(site: Site, text: str, line: int) -> None:
    assert f"README.md:{line}" in places(site.page(text))


def test_page_that_is_not_utf8_is_caught_at_its_line(site: Site) -> None:
    (site.root / "README.md").write_bytes(b"Text\n\nna\xefve\n")
    assert places(site.prove("README.md")) == ["README.md:3"]
