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


def test_output_may_unfold_below_its_block(site: Site) -> None:
    block = "```python\nprint(2 + 2)\n```\n\n"
    fold = '??? question "How much?"\n\n'
    mark, shown = (
        "    <!--pytest-codeblocks:expected-output-->\n\n",
        "    ```text\n    {}\n    ```\n",
    )
    assert site.page(block + fold + mark + shown.format(4)) == []
    assert places(site.page(block + fold + mark + shown.format(5))) == ["README.md:9"]
    assert site.run("proseproof", "update").returncode == 0
    assert (site.root / "README.md").read_text().endswith(shown.format(4))
    unchecked = site.page(block + fold + shown.format(4))
    assert any("right below a block, which nobody checks" in one.message for one in unchecked)
    said = site.page(block + fold + "    Four:\n\n" + mark + shown.format(4))
    assert any("no block right above" in one.message for one in said)


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


@pytest.mark.parametrize(
    "text",
    [
        ">     x = 1",
        "> Words.\n>\n>     x = 1",
        "## Heading {#h}\n    x = 1",
        "***\n    x = 1",
    ],
)
def test_indented_code_is_refused_in_quotes_and_below_headings(site: Site, text: str) -> None:
    (finding,) = site.page(f"Text.\n\n{text}\n")
    assert finding.line == 3 + text.count("\n")
    assert finding.remedy == "write a fence"


@pytest.mark.parametrize("text", ["> Words\n>     that go on.", "> - item\n>\n>     more of it"])
def test_quote_that_goes_on_is_not_taken_for_code(site: Site, text: str) -> None:
    assert site.page(f"Text.\n\n{text}\n") == []


@pytest.mark.parametrize("tag", ["pre", "code", "tt", "kbd", "samp", "CODE", 'code class="x"'])
def test_code_in_html_is_refused(site: Site, tag: str) -> None:
    (finding,) = site.page(f"Text.\n\n<{tag}>n == 4</{tag.split()[0]}>\n")
    assert finding.line == 3
    assert "backticks" in finding.remedy


def test_key_of_a_keyboard_is_no_code(site: Site) -> None:
    assert site.page("Press <kbd>Ctrl</kbd>+<kbd>C</kbd>.\n") == []


@pytest.mark.parametrize(
    "code",
    [
        "import os\nprint(os.name)",
        ">>> 1 + 1\n3",
        "In [1]: 1 + 1",
        "with torch.no_grad(): y = modle(x)",
        "if x:\n    y",
        "while x:\n    pass",
        "n += 1",
        "n: int = 1",
        "assert n",
        "raise ValueError",
    ],
)
def test_python_in_a_text_fence_is_refused(site: Site, code: str) -> None:
    (finding,) = site.page(f"```text\n{code}\n```\n")
    assert finding.line == 1
    assert finding.remedy == "write ```python, or a listing"


@pytest.mark.parametrize("language", ["console", "json", "yaml", "markdown"])
def test_prompt_in_any_fence_is_refused(site: Site, language: str) -> None:
    findings = site.page(f"Text.\n\n```{language}\n>>> 1 + 1\n3\n```\n")
    assert "Python in a fence that is not run" in [one.message for one in findings]


@pytest.mark.parametrize(
    "text",
    ["docs/\n├── zh\n└── en", "step: shape", "pass", "Q K V\n1 2 3", "1 + 1", "a -> b", "x"],
)
def test_text_that_is_no_program_passes(site: Site, text: str) -> None:
    assert site.page(f"```text\n{text}\n```\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "+x = torch.zeross(2)",
        "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x = 1\n+x = torch.zeross(2)",
        " def f(x):\n-    return x\n+    return x + 1",
    ],
)
def test_python_in_a_diff_is_refused(site: Site, text: str) -> None:
    (finding,) = site.page(f"Text.\n\n```diff\n{text}\n```\n")
    assert finding.line == 3
    assert "```python block" in finding.remedy


def test_diff_of_what_is_not_python_passes(site: Site) -> None:
    text = '-dependencies = []\n+dependencies = ["torch"]\n```\n'
    assert site.page(f"```diff\n--- a/x.toml\n+++ b/x.toml\n{text}") == []
    assert site.page(f'```diff title="x.toml"\n{text}') == []


@pytest.mark.parametrize(
    ("mark", "words", "fence"),
    [
        ("<!--proseproof: silent-->\n", "It prints:\n\n", "text\n3"),
        ("<!--proseproof: silent-->\n", "And now:\n\n", "text\n3"),
        ("", "它打印：\n\n", "text\n3"),
        ("", "This gives\n\n", 'json\n{"a": 2}'),
        ("", "", 'json\n{"a": 2}'),
    ],
)
def test_fence_that_a_reader_takes_for_the_output_is_refused(
    site: Site, mark: str, words: str, fence: str
) -> None:
    code = "print(2)" if mark else "x = 2"
    text = f"{mark}```python\n{code}\n```\n\n{words}"
    (finding,) = site.page(f"{text}```{fence}\n```\n")
    assert finding.line == text.count("\n") + 1
    assert "nobody checks" in finding.message and "expected-output" in finding.remedy


@pytest.mark.parametrize(
    "between",
    ["## The files {#files}\n\n", "It prints nothing. These are the files:\n\n"],
)
def test_fence_that_is_no_output_may_stand_below_a_block(site: Site, between: str) -> None:
    assert site.page(f"```python\nx = 2\n```\n\n{between}```text\ndocs/\n```\n") == []


@pytest.mark.parametrize("title", ["n == 4", "f(x)", "(2, 3)", "x = 1"])
def test_code_in_a_title_is_refused(site: Site, title: str) -> None:
    (finding,) = site.page(f'Text.\n\n```python title="{title}"\nn = 3\n```\n')
    assert finding.line == 3
    assert "sentence" in finding.remedy


@pytest.mark.parametrize("title", ["Attention (fused)", "src/x.py", "Encoder-decoder", "两个头"])
def test_words_in_a_title_pass(site: Site, title: str) -> None:
    assert site.page(f'```python title="{title}"\nn = 3\n```\n') == []


def test_code_in_the_front_matter_is_judged_at_its_line(site: Site) -> None:
    page = "---\nsearch: {{}}\ndescription: Here `n == {}`.\n---\n\n```python\nn = 3\n```\n"
    assert site.page(page.format(3)) == []
    (finding,) = site.page(page.format(4))
    assert finding.line == 3
    assert "n is 3" in finding.message


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


@pytest.mark.parametrize(
    "link", ["<a href='docs/b.md'>b</a>", "<A HREF=docs/b.md>b</A>", '<a\nhref="docs/b.md">b</a>']
)
def test_link_in_html_has_to_lead_somewhere(site: Site, link: str) -> None:
    assert places(site.page(f"Text\n\n{link}\n")) == ["README.md:3"]
    site.write("docs/b.md", "Text\n")
    assert site.page(f"Text\n\n{link}\n") == []


@pytest.mark.parametrize("link", ["[here][missing]", "[missing][]"])
def test_reference_has_to_be_defined(site: Site, link: str) -> None:
    (finding,) = site.page(f"Text\n\nSee {link}, and `len[0][1]`{{.text}}, $a[i][j]$.\n")
    assert finding.line == 3
    assert "[missing]: target" in finding.remedy
    assert site.page(f"See {link}.\n\n[Missing]: https://example.org\n") == []


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
