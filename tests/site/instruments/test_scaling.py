"""√d_k, worked as a person would; what both sides show is what the library computes."""

import math
import re

import pytest
import torch
from instrument import Instrument, visit
from playwright.sync_api import Locator, expect
from reader import Open
from torch import Tensor

from headwise.attention import attention
from sitekit.exports.scaling import softmax_gradient

QUERIES, KEYS, WIDEST = 32, 8, 1024


def vectors() -> tuple[Tensor, Tensor]:
    """The instrument's own queries and keys, at their widest."""
    i = 2 + 2 * torch.arange((QUERIES + KEYS) * WIDEST, dtype=torch.float64)
    first, second = ((43758.5453 * torch.sin(12.9898 * j)).remainder(1) for j in (i, i + 1))
    normal = torch.sqrt(-2 * torch.log(first)) * torch.cos(2 * math.pi * second)
    Q, K = normal.view(-1, WIDEST).split([QUERIES, KEYS])
    return Q, K


def jacobians(scores: Tensor) -> Tensor:
    """Of softmax, for each row of scores, by autograd."""
    rows = [torch.autograd.functional.jacobian(lambda x: x.softmax(-1), row) for row in scores]
    return torch.stack(rows)


def test_numbers_are_as_good_as_drawn_from_a_normal_distribution() -> None:
    numbers = torch.cat(vectors())
    assert abs(numbers.mean()) < 0.01 and abs(numbers.std() - 1) < 0.01
    assert abs(numbers.pow(4).mean() - 3) < 0.1
    shares = torch.tensor([0.02, 0.16, 0.5, 0.84, 0.98], dtype=torch.float64)
    wanted = torch.distributions.Normal(0.0, 1.0).icdf(shares)
    found = numbers.flatten().sort().values[(shares * numbers.numel()).long()]
    torch.testing.assert_close(found, wanted, atol=0.05, rtol=0)
    # No vector resembles another more than chance allows, and no number the next.
    alike = torch.corrcoef(numbers).fill_diagonal_(0).abs().max()
    assert alike * WIDEST**0.5 < 4
    assert (
        abs(torch.corrcoef(torch.stack((numbers[:, 1:], numbers[:, :-1])).flatten(1))[0, 1]) < 0.01
    )


def test_dot_products_spread_as_the_root_of_the_width() -> None:
    Q, K = vectors()
    for power in range(11):
        dots = Q[:, : 2**power] @ K[:, : 2**power].T
        assert abs(dots.std() / 2 ** (power / 2) - 1) < 0.08


def test_gradient_is_that_of_autograd() -> None:
    torch.manual_seed(0)
    for factor in (1, 5, 50):
        scores = factor * torch.randn(6, 5)
        wanted = jacobians(scores).flatten(1).norm(dim=-1).mean()
        torch.testing.assert_close(softmax_gradient(scores.softmax(-1)), wanted)


def assert_shown(instrument: Instrument, power: int, query: int) -> None:
    """Both sides show what the library makes of these queries and keys."""
    Q, K = (x[:, : 2**power] for x in vectors())
    dots = Q @ K.T
    said = instrument.panel.get_by_role("status").inner_text()
    for side, scores, weights in (
        (".plain", dots, dots.softmax(-1)),
        (".scaled", dots / 2 ** (power / 2), attention(Q, K, K)[1]),
    ):
        card = instrument.panel.locator(side)
        spread = f"{scores.std():.1f}"
        gradient = jacobians(scores).flatten(1).norm(dim=-1).mean().item()
        mine = weights[query - 1].tolist()
        for told in (spread, f"{gradient:.2f}", f"{max(mine):.2f}"):
            assert told in said
        assert card.locator("p b").last.inner_text() == spread
        rows = [
            [str(j), f"{score:.1f}".replace("-", "−"), f"{weight:.2f}"]
            for j, (score, weight) in enumerate(zip(scores[query - 1], mine, strict=True), 1)
        ]
        rows.append([card.locator("tfoot th").inner_text(), f"{gradient:.2f}"])
        assert (
            card.locator("tbody tr, tfoot tr").evaluate_all(
                "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
            )
            == rows
        )
        shares = card.locator(".bar").evaluate_all(
            "cells => cells.map(cell => Number(cell.style.getPropertyValue('--share')))"
        )
        assert shares == pytest.approx([*mine, gradient / 0.5], abs=1e-5)
        assert_hill(card, scores, query)


def assert_hill(card: Locator, scores: Tensor, query: int) -> None:
    """The hill is the histogram of all scores, in bins of 4; the ticks are those of one query."""
    assert scores.abs().max() < 130
    counts = ((scores + 130) / 4).floor().long().flatten().bincount(minlength=65)
    hill, ticks = (str(path.get_attribute("d")) for path in card.locator(".hill path").all())
    steps = [(float(y), float(x)) for y, x in re.findall(r"V([\d.]+)H([\d.]+)", hill)]
    assert [x for _, x in steps] == [4.0 * (i + 1) for i in range(65)]
    heights = torch.tensor([(60 - y) / 56 for y, _ in steps])
    torch.testing.assert_close(heights, counts / counts.max(), atol=0.001, rtol=0)
    at = [float(x) - 130 for x in re.findall(r"M([\d.]+) 62v6", ticks)]
    assert at == pytest.approx(scores[query - 1].tolist(), abs=0.006)


def test_both_sides_follow_the_sliders(shown: Instrument) -> None:
    width, query = (shown.panel.get_by_label(text) for text in ("Width d_k", "Show query"))
    said = shown.panel.get_by_role("status")
    assert_shown(shown, 6, 1)
    width.press("End")
    expect(width).to_have_attribute("aria-valuetext", "1024")
    assert_shown(shown, 10, 1)
    expect(said).to_contain_text(
        "With d_k = 1024, dot products spread by 33.8 (√d_k is 32.0). The largest weight of query "
        "1 is 1.00, and the gradient that's left is 0.04. Divided by √d_k, they spread by 1.1; "
        "the largest weight is 0.35, the gradient 0.37."
    )
    query.press("End")
    query.press("ArrowLeft")
    assert_shown(shown, 10, 31)
    width.press("Home")  # √1 is 1: both sides are the same
    assert_shown(shown, 0, 31)
    box = width.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + 2, middle)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=3)
    shown.page.mouse.up()
    assert shown.state() == {"power": 5, "query": 31}
    assert_shown(shown, 5, 31)
    for _ in range(2):
        width.press("ArrowRight")
    assert_shown(shown, 7, 31)


def test_chinese_reader_opens_a_shared_state_on_a_phone(open_page: Open) -> None:
    assert_shown(visit(open_page, "scaling", "zh", "scaling=power(3)query(9)", width=375), 3, 9)
