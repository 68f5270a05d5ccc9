"""Split and merge, worked as a person would; what it shows is what the library does in memory."""

from collections.abc import Iterator

import pytest
import torch
from instrument import Instrument
from page_visit import PHONE, WIDE
from playwright.sync_api import expect
from torch import Tensor

from headwise.heads import merge_heads, split_heads
from headwise.museum.shapes import merge_without_transpose, split_by_reshape

SLIDERS = {"seq_len": "Tokens", "num_heads": "Heads", "d_k": "Width of a head"}

# Cells as they are seen: from top to bottom, and from left to right.
SEEN = """cells => {
  const rows = {}
  for (const cell of cells) {
    const { top, left } = cell.getBoundingClientRect()
    ;(rows[Math.round(top)] ??= []).push([left, Number(cell.textContent)])
  }
  return Object.keys(rows).map(Number).sort((a, b) => a - b).map(top =>
    rows[top].sort(([a], [b]) => a - b).map(([, number]) => number))
}"""
# Cells and labels that are not within the picture, and labels that are beside no cell.
STRAY = """stage => {
  const box = one => one.getBoundingClientRect(), whole = box(stage)
  const tops = [...stage.querySelectorAll("button")].map(one => box(one).top)
  return [...stage.querySelectorAll("button, .labels span")].filter(one => {
    const { top, bottom, left, right } = box(one)
    return top < whole.top - 1 || bottom > whole.bottom + 1 || left < whole.left - 1
      || right > whole.right + 1 || !tops.some(other => Math.abs(other - top) < 1)
  }).length
}"""


@pytest.fixture
def shown(shown: Instrument) -> Iterator[Instrument]:
    """For a reader who wants nothing to move: then what is clicked is there at once."""
    shown.page.emulate_media(reduced_motion="reduce")
    yield shown
    shown.page.emulate_media(reduced_motion="no-preference")


def library(way: str, seq_len: int, num_heads: int, d_k: int) -> dict[str, Tensor]:
    """What each line makes, by its name."""
    numbers = torch.arange(seq_len * num_heads * d_k)
    if way == "split":
        x = numbers.view(1, seq_len, num_heads * d_k)
        cut, heads = x.view(1, seq_len, num_heads, d_k), split_heads(x, num_heads)
        wrong = split_by_reshape(x, num_heads)
        return {"x": x, "cut": cut, "heads": heads, "copy": heads.contiguous(), "wrong": wrong}
    out = numbers.view(1, num_heads, seq_len, d_k)
    turned, wrong = out.transpose(1, 2), merge_without_transpose(out)
    copy = turned.contiguous()
    merged = copy.view(1, seq_len, num_heads * d_k)
    assert torch.equal(merged, merge_heads(out))
    return {"out": out, "turned": turned, "copy": copy, "merged": merged, "wrong": wrong}


def memory(x: Tensor) -> list[int]:
    """The numbers in the order in which they lie."""
    numbers: list[int] = x.as_strided((x.numel(),), (1,)).tolist()
    return numbers


def place(x: Tensor, number: int) -> tuple[list[int], int]:
    """The index of a number, and how far its address is from the tensor's."""
    (index,) = (x == number).nonzero().tolist()
    return index, (x[tuple(index)].data_ptr() - x.data_ptr()) // x.element_size()


def choose(shown: Instrument, group: str, option: str) -> None:
    shown.panel.get_by_role("group", name=group).get_by_text(option, exact=True).click()


def line(shown: Instrument, name: str) -> None:
    """Click the line that makes this tensor."""
    shown.panel.locator(".steps label", has_text=f"{name} = ").click()


def cell(shown: Instrument, number: int) -> str:
    """Where the cell of this number is."""
    return f'.stage [data-value="{number}"]'


def strips(shown: Instrument) -> list[list[str]]:
    """The strips of memory that are seen."""
    found = shown.panel.locator(".strip:visible")
    return [found.nth(i).locator(".piece span").all_inner_texts() for i in range(found.count())]


def assert_shown(
    shown: Instrument, name: str, tensors: dict[str, Tensor], number: int = 23
) -> None:
    """Its cells are where the tensor has them, and its memory holds what the tensor's does."""
    x = tensors[name]
    rows = shown.panel.locator(".stage button").evaluate_all(SEEN)
    assert rows == x.flatten(0, -2).tolist()
    assert shown.panel.locator(".stage").evaluate(STRAY) == 0
    start = next(iter(tensors.values()))
    lying = [memory(start), *([memory(x)] if x.data_ptr() != start.data_ptr() else [])]
    assert strips(shown) == [[str(one) for one in numbers] for numbers in lying]
    index, address = place(x, number)
    assert shown.panel.locator(".address code").inner_text() == f"{name}{index}"
    assert shown.panel.locator(".terms b").inner_text() == str(address)
    lit = shown.panel.locator(".strip:visible .lit").evaluate_all(
        "all => all.map(one => [Number(one.dataset.place), Number(one.textContent)])"
    )
    assert lit == [[number, number], *([[address, number]] if len(lying) == 2 else [])]
    expect(shown.panel.get_by_role("status")).to_contain_text(
        f"{name}{index} is at place {address} of the {'new ' if len(lying) == 2 else ''}memory."
    )


@pytest.mark.parametrize("way", ["split", "merge"])
def test_every_line_shows_where_the_librarys_numbers_are(shown: Instrument, way: str) -> None:
    """At the sizes it opens with, at the largest and at the smallest, set from the keyboard."""
    choose(shown, "Direction", way)
    largest = {"seq_len": 6, "num_heads": 4, "d_k": 4}
    for key, sizes in (
        ("", {"seq_len": 3, "num_heads": 2, "d_k": 4}),
        ("End", largest),
        ("ArrowLeft", {name: size - 1 for name, size in largest.items()}),
        ("Home", dict.fromkeys(largest, 1)),
    ):
        for label in SLIDERS.values() if key else ():
            shown.panel.get_by_role("slider", name=label).press(key)
        tensors = library(way, **sizes)
        for i, (name, x) in enumerate(tensors.items()):
            line(shown, name)
            assert_shown(shown, name, tensors, shown.state()["cell"])
            written = shown.panel.locator(".steps label").nth(i).inner_text()
            assert f"shape {tuple(x.shape)}, strides {x.stride()}" in written
            # Each number is where the right way puts it, but for those that are marked.
            wanted = tensors["heads" if way == "split" else "merged"]
            wrong = int(torch.ne(x, wanted).sum()) if name == "wrong" else 0
            assert shown.panel.locator(".stage .bad button").count() == wrong
        titles = shown.panel.locator(".memory p:not(.address)").all_text_contents()
        start = next(iter(tensors.values())).data_ptr()
        old = [name for name, x in tensors.items() if x.data_ptr() == start]
        assert titles[0] == f"Memory of {', '.join(old)}: each number is its own place"
        assert shown.state() | sizes == shown.state()


def test_rows_say_which_token_and_head_they_hold(shown: Instrument) -> None:
    labels = shown.panel.locator(".labels")
    for way, name, blocks, rows in (
        ("split", "x", ["token 0", "token 1", "token 2"], []),
        ("split", "cut", ["token 0", "token 1", "token 2"], ["head 0", "head 1"] * 3),
        ("split", "heads", ["head 0", "head 1"], ["token 0", "token 1", "token 2"] * 2),
        ("merge", "turned", ["token 0", "token 1", "token 2"], ["head 0", "head 1"] * 3),
        ("merge", "merged", ["token 0", "token 1", "token 2"], []),
    ):
        choose(shown, "Direction", way)
        line(shown, name)
        assert labels.locator(".block").all_inner_texts() == blocks
        assert labels.locator(".row").all_inner_texts() == rows

    choose(shown, "Direction", "split")
    line(shown, "wrong")
    # Of each row that the reshape makes: the token and the head that it comes from.
    x = torch.arange(24).view(1, 3, 8)
    first = split_by_reshape(x, 2)[0, :, :, 0].flatten().tolist()
    found = [((split_heads(x, 2) == number).nonzero()[0]).tolist() for number in first]
    assert labels.locator(".row").all_inner_texts() == [
        f"token {t}" if (h, t) == divmod(i, 3) else f"✗ token {t}, head {h}"
        for i, (_, h, t, _) in enumerate(found)
    ]
    tokens = ", ".join(str(t) for _, _, t, _ in found[:3])
    expect(shown.panel.get_by_role("status")).to_contain_text(
        f"head 0 has pieces of tokens {tokens}. In the wrong place: 16 of 24 numbers."
    )
    choose(shown, "Direction", "merge")
    expect(shown.panel.get_by_role("status")).to_contain_text(
        "the row of token 0 has pieces of tokens 0, 1. In the wrong place: 16 of 24 numbers."
    )


def test_it_says_what_each_line_does_to_memory(shown: Instrument) -> None:
    status = shown.panel.get_by_role("status")
    for way, name, said in (
        ("split", "x", "A row is a token"),
        ("split", "cut", "view cuts each row into 2 pieces"),
        ("split", "heads", "head 0 has the pieces of tokens 0, 1, 2"),
        ("split", "copy", "contiguous copies the numbers into new memory"),
        ("merge", "out", "head by head"),
        ("merge", "merged", "a row is a token again"),
    ):
        choose(shown, "Direction", way)
        line(shown, name)
        expect(status).to_contain_text(said)
    # Whether view could join the pieces is PyTorch's to say.
    line(shown, "turned")
    for sizes in ((3, 2, 4), (1, 2, 4), (3, 1, 4), (3, 2, 1), (2, 2, 2)):
        shown.set(dict(zip(SLIDERS, sizes, strict=True)))
        turned = library("merge", *sizes)["turned"]
        try:
            turned.view(1, sizes[0], -1)
            expect(status).to_contain_text("Here view could join them")
        except RuntimeError:
            expect(status).to_contain_text(f"the next piece {turned.stride(2)}, and no single")
    shown.set({"num_heads": 1})
    line(shown, "copy")
    expect(status).to_contain_text("there is nothing to copy")
    line(shown, "wrong")
    expect(status).to_contain_text("With a single head or token")


def test_cell_is_found_by_mouse_and_keyboard(shown: Instrument) -> None:
    tensors = library("split", 3, 2, 4)
    heads = tensors["heads"]
    address = shown.panel.locator(".address")
    assert address.inner_text().split() == [
        *("heads[0,", "1,", "2,", "3]", "0·24", "batch", "+", "1·4", "head", "+"),
        *("2·8", "token", "+", "3·1", "number", "=", "23"),
    ]
    shown.panel.locator(cell(shown, 9)).hover()
    index, there = place(heads, 9)
    assert address.locator("code").inner_text() == f"heads{index}"
    assert shown.panel.locator(".strip .lit").get_attribute("data-place") == str(there)
    assert shown.state()["cell"] == 23
    shown.panel.locator(".title").hover()
    assert_shown(shown, "heads", tensors)
    shown.panel.locator('.strip [data-place="5"]').first.click()
    assert_shown(shown, "heads", tensors, 5)
    shown.panel.locator(cell(shown, 8)).click()
    assert_shown(shown, "heads", tensors, 8)

    # From there with the arrow keys: to the next number, to the next row, and into the next head.
    order = heads.flatten().tolist()
    for key, step in (
        *(("ArrowRight", 1), ("ArrowDown", 4), ("ArrowDown", 4), ("ArrowRight", 1)),
        *(("ArrowLeft", -1), ("ArrowUp", -4), ("ArrowUp", -4), ("ArrowUp", -4), ("ArrowUp", 0)),
    ):
        at = order[order.index(shown.state()["cell"]) + step]
        shown.page.keyboard.press(key)
        assert shown.state()["cell"] == at
        focused = shown.panel.locator(cell(shown, at))
        expect(focused).to_be_focused()
        expect(focused).to_have_attribute("aria-pressed", "true")
        assert_shown(shown, "heads", tensors, at)
    assert shown.panel.locator('.stage button[tabindex="0"]').count() == 1
    assert shown.panel.locator('.stage button[aria-pressed="true"]').count() == 1


def test_length_follows_the_mouse_and_lines_the_arrow_keys(shown: Instrument) -> None:
    slider = shown.panel.get_by_role("slider", name="Tokens")
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] - 1, middle, steps=3)
    shown.page.mouse.up()
    tensors = library("split", 6, 2, 4)
    shown.panel.locator(".steps input:checked").focus()
    for name, key in (("copy", "ArrowDown"), ("wrong", "ArrowDown"), ("x", "ArrowDown")):
        shown.page.keyboard.press(key)
        assert_shown(shown, name, tensors)


def test_colour_is_that_of_the_token_or_of_the_head(shown: Instrument) -> None:
    hues = "all => all.map(one => Number(one.closest('[data-hue]').dataset.hue))"
    for way, numbers in (("split", torch.arange(24).view(3, 2, 4)), ("merge", None)):
        choose(shown, "Direction", way)
        given = split_heads(torch.arange(24).view(1, 3, 8), 2) if numbers is not None else None
        heads = torch.arange(24).view(1, 2, 3, 4) if given is None else given
        for colour, axis in (("token", 2), ("head", 1)):
            choose(shown, "Colour", colour)
            wanted = [(heads == number).nonzero()[0, axis].item() for number in range(24)]
            assert shown.panel.locator(".stage button").evaluate_all(hues) == wanted
            assert (
                shown.panel.locator(".strip").first.locator(".piece span").evaluate_all(hues)
                == wanted
            )
            colours = shown.panel.locator(".stage button").evaluate_all(
                "all => all.map(one => getComputedStyle(one).backgroundColor)"
            )
            assert len(set(colours)) >= len(set(wanted))


def test_copy_flies_out_of_its_old_place_unless_nothing_should_move(shown: Instrument) -> None:
    line(shown, "copy")
    line(shown, "cut")
    assert shown.page.evaluate("document.getAnimations().length") == 0
    shown.page.emulate_media(reduced_motion="no-preference")
    shown.set({"seq_len": 6, "num_heads": 4})  # several lines of memory
    far = shown.panel.evaluate(  # at the very beginning, however slow the machine is
        """panel => {
          panel.querySelector('input[value="contiguous"]').click()
          const [first, copy] = [...panel.querySelectorAll(".strip")].map(one =>
            [...one.children])
          for (const one of copy.flatMap(piece => piece.getAnimations())) one.currentTime = 0
          const source = piece => first.find(one => one.textContent === piece.textContent)
          return copy.map(piece => [piece, source(piece)].map(one => one.getBoundingClientRect()))
            .map(([a, b]) => Math.hypot(a.left - b.left, a.top - b.top))
        }"""
    )
    assert len(far) == 24 and max(far) < 2


def test_cell_and_line_follow_a_finger(shown: Instrument) -> None:
    shown.page.set_viewport_size({"width": PHONE, "height": 900})
    tensors = library("split", 3, 2, 4)
    for place in (
        shown.panel.locator(".steps label", has_text="copy = "),
        shown.panel.locator(cell(shown, 12)),
    ):
        place.scroll_into_view_if_needed()
        shown.tap(place)
        expect(shown.panel.locator(".address code")).to_contain_text("copy")
    assert_shown(shown, "copy", tensors, 12)
    shown.page.set_viewport_size({"width": WIDE, "height": 900})
