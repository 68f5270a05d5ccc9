"""The mask shown, worked as a person would; what it shows is what the library computes."""

import math

import pytest
import torch
from instrument import Instrument
from playwright.sync_api import expect
from torch import Tensor

from headwise import masks
from headwise.attention import attention
from headwise.museum import masks as museum
from headwise.windows import window_mask


def inputs() -> tuple[Tensor, Tensor]:
    """The bench's own queries and keys."""
    b, h, t, d = torch.meshgrid(*map(torch.arange, (2, 2, 6, 4)), indexing="ij")
    return ((b + 2 * h + 3 * t + 5 * d) % 7 - 3) / 2, ((3 * b + h + 5 * t + 2 * d + 1) % 7 - 3) / 2


def numbers(rows: list[list[str]]) -> Tensor:
    """Cells as they are read, as numbers."""
    values = [[float(x.replace("−", "-").replace("∞", "inf")) for x in row] for row in rows]
    return torch.tensor(values)


def assert_shown(shown: Instrument, weights: Tensor) -> None:
    """The table of weights shows these, and behind them their sums."""
    wanted = torch.cat((weights, weights.sum(-1, keepdim=True)), dim=-1)
    torch.testing.assert_close(
        numbers(shown.table("Weights")), wanted, atol=0.0051, rtol=0, equal_nan=True
    )


def choose(shown: Instrument, group: str, option: str) -> None:
    shown.panel.get_by_role("group", name=group).get_by_text(option, exact=True).click()


def test_it_opens_with_the_librarys_weights(shown: Instrument) -> None:
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])), masks.causal_mask(6))
    assert_shown(shown, attention(Q, K, K, mask)[1][1, 0])


def test_lengths_follow_the_arrow_keys(shown: Instrument) -> None:
    slider = shown.panel.get_by_label("Length of sentence 2")
    slider.focus()
    for _ in range(2):
        slider.press("ArrowLeft")
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 2]), 6), masks.causal_mask(6))
    assert_shown(shown, attention(Q, K, K, mask)[1][1, 0])


def test_length_follows_the_mouse(shown: Instrument) -> None:
    slider = shown.panel.get_by_label("Length of sentence 2")
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + box["width"] * 4 / 6, middle)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 1, middle, steps=4)
    shown.page.mouse.up()
    assert shown.state()["second"] == 0
    assert_shown(shown, torch.zeros(6, 6))


def test_padding_on_the_left_hides_whole_rows_and_minus_infinity_makes_them_nan(
    shown: Instrument,
) -> None:
    choose(shown, "Padding on the", "left")
    choose(shown, "Filled with", "−∞")
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])).flip(-1), masks.causal_mask(6))
    scores = Q @ K.transpose(-2, -1) / 2
    weights = museum.hide_where_false(scores, mask)[1, 0]
    assert weights.isnan().any(-1).tolist() == [True, True, False, False, False, False]
    assert_shown(shown, weights)
    expect(shown.panel.get_by_role("status")).to_contain_text("2 rows are NaN")
    assert shown.panel.locator("td.sum.bad").count() == 2


@pytest.mark.parametrize(
    ("option", "fill"), [("−1e9", -1e9), ("finfo.min", torch.finfo(torch.float32).min)]
)
def test_a_large_number_makes_a_hidden_row_uniform(
    shown: Instrument, option: str, fill: float
) -> None:
    choose(shown, "Padding on the", "left")
    choose(shown, "Filled with", option)
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])).flip(-1), masks.causal_mask(6))
    scores = Q @ K.transpose(-2, -1) / 2
    weights = scores.masked_fill(~mask, fill).softmax(-1)[1, 0]
    assert weights[0].tolist() == pytest.approx([1 / 6] * 6)
    assert_shown(shown, weights)
    filled = numbers(shown.table("Filled scores"))
    assert filled[0].tolist() == pytest.approx([fill] * 6, rel=0.2)


def test_masking_after_softmax_leaves_rows_that_do_not_sum_to_one(shown: Instrument) -> None:
    choose(shown, "Masked", "after softmax")
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])), masks.causal_mask(6))
    weights = museum.mask_after_softmax(Q @ K.transpose(-2, -1) / 2, mask)[1, 0]
    assert_shown(shown, weights)
    off = int(((weights.sum(-1) - 1).abs() > 1e-4).sum())
    expect(shown.panel.get_by_role("status")).to_contain_text(f"{off} rows don't sum to 1")


@pytest.mark.parametrize(
    ("side", "fill", "axis"),
    [
        ("left", "−1e9", "there"),
        ("left", "−∞", "there"),
        ("right", "−1e9", "forgotten (batch = heads)"),
    ],
)
def test_it_counts_what_leaks_and_what_is_lost(
    shown: Instrument, side: str, fill: str, axis: str
) -> None:
    choose(shown, "Padding on the", side)
    choose(shown, "Filled with", fill)
    choose(shown, "The mask's head axis", axis)
    Q, K = inputs()
    padding = masks.padding_mask(torch.tensor([6, 4]))
    padding = padding.flip(-1) if side == "left" else padding
    mask = masks.combine(padding, masks.causal_mask(6))
    used = mask if axis == "there" else mask[:, 0].expand(2, 2, 6, 6)
    filled = (Q @ K.transpose(-2, -1) / 2).masked_fill(~used, -1e9 if fill == "−1e9" else -math.inf)
    weights, visible = filled.softmax(-1)[1, 0], mask[1, 0]
    assert_shown(shown, weights)
    gets = weights > 1e-6
    leak, lost = int((gets & ~visible).sum()), int((~gets & visible).sum())
    blind, nan = int((~visible.any(-1)).sum()), int(weights.isnan().any(-1).sum())
    off = int(((weights.sum(-1) - 1).abs() > 1e-4).sum())
    said = [
        f"{nan} rows are NaN." if nan else "",
        f"{leak} hidden keys get weight." if leak else "No hidden key gets any weight.",
        f"{lost} visible keys get none." if lost and not nan else "",
        f"{blind} queries may see nothing." if blind else "",
        f"{off} rows don't sum to 1." if off else "" if nan else "Every row sums to 1.",
    ]
    expect(shown.panel.get_by_role("status")).to_have_text(" ".join(filter(None, said)))


def test_window_is_causal(shown: Instrument) -> None:
    shown.panel.get_by_label("Causal").uncheck()
    slider = shown.panel.get_by_label("Window (0: none)")
    slider.focus()
    for _ in range(2):
        slider.press("ArrowRight")
    expect(shown.panel.get_by_label("Causal")).to_be_checked()
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])), window_mask(6, window=2))
    assert_shown(shown, attention(Q, K, K, mask)[1][1, 0])


CONVENTIONS = {
    "this site": lambda mask: mask[1, 0],
    "SDPA": lambda mask: masks.to_sdpa(mask)[1, 0],
    "nn.MHA attn_mask": lambda mask: masks.to_attn_mask(mask, (2, 2, 6, 6))[2],
    "additive": lambda mask: masks.to_additive(mask)[1, 0],
    "nn.MHA key_padding_mask": lambda mask: masks.to_key_padding_mask(mask)[1:],
    "Hugging Face": lambda mask: masks.to_attention_mask(mask)[1:],
}


@pytest.mark.parametrize("option", CONVENTIONS)
@pytest.mark.parametrize("causal", [True, False])
def test_mask_is_written_as_the_library_converts_it(
    shown: Instrument, option: str, causal: bool
) -> None:
    if not causal:
        shown.panel.get_by_label("Causal").uncheck()
    choose(shown, "Written as in", option)
    mask = masks.padding_mask(torch.tensor([6, 4]))
    mask = masks.combine(mask, masks.causal_mask(6)) if causal else mask
    try:
        wanted = CONVENTIONS[option](mask)
    except ValueError:  # the convention has no axis for queries
        expect(shown.panel.locator(".message")).to_contain_text("no query axis")
        return
    words = {True: "T", False: "F"}
    written = [
        [words[x] if isinstance(x, bool) else "−∞" if math.isinf(x) else str(int(x)) for x in row]
        for row in wanted.tolist()
    ]
    assert shown.panel.locator("table").count() == 3
    first = shown.panel.locator("table").first.locator("tbody tr")
    cells = first.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    assert cells == written


def test_without_an_axis_for_heads_a_head_gets_the_mask_of_a_sentence(shown: Instrument) -> None:
    choose(shown, "The mask's head axis", "forgotten (batch = heads)")
    expect(shown.panel.locator(".message")).to_contain_text("three axes")
    Q, K = inputs()
    mask = masks.combine(masks.padding_mask(torch.tensor([6, 4])), masks.causal_mask(6))
    with pytest.raises(ValueError, match="all 4 axes"):
        attention(Q, K, K, mask[:, 0])
    choose(shown, "Filled with", "−∞")
    scores = Q @ K.transpose(-2, -1) / 2
    wrong = museum.mask_meets_heads(scores, mask[:, 0])
    assert_shown(shown, wrong[1, 0])
    expect(shown.panel.get_by_role("status")).to_contain_text("hidden keys get weight")
    assert not torch.allclose(wrong[1, 0], museum.mask_meets_batch(scores, mask[:, 0])[1, 0])
