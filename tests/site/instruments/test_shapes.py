"""Shapes, line by line, worked as a person would: the library's lines, shapes and refusals."""

import inspect
import re

import torch
from instrument import Instrument, visit
from playwright.sync_api import expect
from reader import Open

from headwise import MultiHeadAttention, merge_heads, split_heads
from headwise.attention import attention
from headwise.trace import trace

FUNCTIONS = {
    function.__qualname__: inspect.getsource(function)
    for function in (
        *(MultiHeadAttention.forward, MultiHeadAttention.project_queries),
        *(MultiHeadAttention.project_keys, split_heads, attention, merge_heads),
    )
}
ROWS = """rows => rows.map(row => [row.querySelector("code").textContent,
  row.querySelector(".made").checkVisibility() ? row.querySelector(".made").textContent : ""])"""


# The code of each line, the shapes that are seen behind it, and how far it is indented.
ROWS = """rows => rows.map(row => {
  const made = row.querySelector(".made"), left = one => one.getBoundingClientRect().left
  return [row.querySelector("code").textContent, made.checkVisibility() ? made.textContent : "",
    left(row) - left(row.parentElement)]
})"""


def read(shown: Instrument) -> list[tuple[str, str, float]]:
    """Each line of code, what is written behind it, and how far it is indented."""
    found: list[tuple[str, str, float]] = shown.panel.locator(".lines li").evaluate_all(ROWS)
    return found


def shapes(made: str) -> list[tuple[int, ...]]:
    """The shapes behind a line, without the names of their axes."""
    return [tuple(map(int, re.findall(r"\d+", part))) for part in re.findall(r"\((.+?)\)", made)]


def assert_shown(shown: Instrument, **sizes: int) -> None:
    """Every line is the library's own, and has the shapes that a run of it has there."""
    batch, seq_len, d_model, num_heads = sizes.values()
    query = torch.randn(batch, seq_len, d_model)
    run = trace(MultiHeadAttention(d_model, num_heads), query, need_weights=True)
    steps = {name: list(run.within(name)) for name in FUNCTIONS}
    heads = split_heads(query, num_heads)
    returned = {"split_heads": heads.shape, "merge_heads": merge_heads(heads).shape}
    known = {**sizes, "query": seq_len, "key": seq_len, "key_len": seq_len}
    known |= {"d_k": heads.size(3), "d_v": heads.size(3), "num_kv_heads": num_heads}

    (*call, left), *lines = read(shown)
    given = f"query (batch {batch}, seq_len {seq_len}, d_model {d_model})"
    assert (call, left) == (["mha(query, need_weights=True)", given], 0)
    assert len(lines) == 15
    for code, made, left in lines:
        function, rest = next(
            (name, line.removeprefix(code))
            for name, text in FUNCTIONS.items()
            for line in map(str.strip, text.splitlines())
            if re.fullmatch(rf"{re.escape(code)}(  #.*)?", line)
        )
        wanted = []
        for name in [] if code.startswith("return ") else code.partition(" = ")[0].split(", "):
            step = next(step for step in steps[function] if step.name == name)
            steps[function].remove(step)
            wanted.append(step.shape)
        assert shapes(made) == (wanted or [tuple(returned[function])]), code
        assert left == 20 * run.within(function)[0].depth  # a rem for each call
        # An axis has the name that the source gives it, and the size of that name.
        named = re.findall(r"([a-z_]+) (\d+)", made)
        axes = re.findall(r"[a-z_]+", rest) if rest.startswith("  # (") else []
        assert [name for name, _ in named] == axes
        assert [int(size) for _, size in named] == [known[name] for name in axes]


def test_every_line_has_the_librarys_shapes_at_any_sizes(shown: Instrument) -> None:
    sizes = {"batch": 2, "seq_len": 5, "d_model": 32, "num_heads": 4}
    assert_shown(shown, **sizes)
    for label, key, change in (
        ("Heads", "ArrowLeft", {}),
        ("Heads", "ArrowLeft", {"num_heads": 2}),
        ("Width", "ArrowRight", {"d_model": 40}),
        ("Sentences", "End", {"batch": 4}),
        ("Tokens", "End", {"seq_len": 16}),
        ("Width", "End", {"d_model": 64}),
        ("Heads", "End", {"num_heads": 8}),
        ("Sentences", "Home", {"batch": 1}),
        ("Tokens", "Home", {"seq_len": 1}),
        ("Width", "Home", {"d_model": 8}),
        ("Heads", "Home", {"num_heads": 1}),
    ):
        shown.panel.get_by_label(label).press(key)
        sizes |= change
        if change:  # on the way, there were 3 heads
            assert_shown(shown, **sizes)


def test_sizes_that_changed_are_lit(shown: Instrument) -> None:
    lit = shown.panel.locator(".lines b.changed")
    shown.set({})
    assert lit.count() == 0
    shown.panel.get_by_label("Tokens").press("ArrowRight")
    sizes = [size for _, made, _ in read(shown) for shape in shapes(made) for size in shape]
    assert lit.all_inner_texts() == ["6"] * sizes.count(6)
    slider = shown.panel.get_by_label("Heads")
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.click(box["x"] + box["width"] - 1, middle)
    assert_shown(shown, batch=2, seq_len=6, d_model=32, num_heads=8)
    d_k = 32 // 8
    texts = lit.all_inner_texts()
    assert set(texts) == {"8", str(d_k)}
    assert texts.count("8") == len(re.findall(r"\(2, 8, |num_\w*heads 8", str(read(shown))))
    expect(shown.panel.get_by_role("status")).to_have_text(
        f"A width of 32 for 8 heads gives d_k = {d_k}. Tables of weights: {2 * 8}, each 6 × 6. "
        "The output is (2, 6, 32), like the input."
    )


def test_heads_that_do_not_divide_the_width_get_the_librarys_message(shown: Instrument) -> None:
    combinations = [(d_model, heads) for d_model in range(8, 65, 8) for heads in range(1, 9)]
    found = shown.element.evaluate(
        """(e, combinations) => combinations.map(([d_model, num_heads]) => {
          e.set({ d_model, num_heads })
          const [message, ...made] = e.querySelectorAll(".message, .made")
          const seen = one => one.checkVisibility()
          return [seen(message) ? message.textContent : "", made.some(seen)]
        })""",
        combinations,
    )
    for (d_model, num_heads), (message, has_shapes) in zip(combinations, found, strict=True):
        try:
            MultiHeadAttention(d_model, num_heads)
            assert (message, has_shapes) == ("", True)
        except ValueError as error:
            assert (message, has_shapes) == (f"ValueError: {error}", False)
    # As a reader comes to it: from the keyboard, and back.
    shown.panel.get_by_role("button", name="Reset").click()
    shown.panel.get_by_label("Heads").press("ArrowRight")
    expect(shown.panel.locator(".message")).to_contain_text("num_heads: got 5, expected a divisor")
    expect(shown.panel.get_by_role("status")).to_contain_text("the library refuses")
    shown.panel.get_by_label("Heads").press("ArrowLeft")
    assert_shown(shown, batch=2, seq_len=5, d_model=32, num_heads=4)


def test_refused_sizes_in_the_address_show_lines_and_then_their_shapes(open_page: Open) -> None:
    shown = visit(open_page, "shapes", query="shapes=num_heads(3)")
    expect(shown.panel.locator(".message")).to_contain_text("num_heads: got 3")
    shown.panel.get_by_label("Heads").press("ArrowLeft")
    assert_shown(shown, batch=2, seq_len=5, d_model=32, num_heads=2)
    assert shown.panel.locator(".lines b.changed").count() == 0
