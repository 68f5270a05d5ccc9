"""Training and decoding, step by step, worked as a person would, against the library."""

import pytest
import torch
from instrument import Instrument
from playwright.sync_api import expect
from torch import Tensor

from headwise.models import translator

MODEL = translator.load().half().float()
SRC = translator.encode(["二百三十五"])
TOKENS = translator.encode_words(["two hundred thirty five"])
WORDS = ["<bos>", "two", "hundred", "thirty", "five", "<eos>"]


def choose(instrument: Instrument, group: str, option: str) -> None:
    instrument.panel.get_by_role("group", name=group).get_by_text(option, exact=True).click()


def cells(instrument: Instrument) -> list[list[str]]:
    """The table: weights, the word to answer, its probability, and the work of a step."""
    return instrument.table("A row is a place")


def library(count: int = 5) -> tuple[Tensor, Tensor]:
    """Of the first places: the weights of head 1 of layer 1, and the probabilities."""
    given = TOKENS[:, :count]
    with torch.no_grad():
        logits, weights = MODEL(SRC, given, need_weights=True)
    return weights.decoder[0][0, 0], logits[0].softmax(dim=-1)


def assert_rows(rows: list[list[str]], weights: Tensor) -> None:
    found = [[float(x) for x in row[: weights.size(1)]] for row in rows]
    torch.testing.assert_close(torch.tensor(found), weights, atol=0.0051, rtol=0)


def test_training_answers_all_rows_at_once_and_a_row_sees_what_is_before_it(
    shown: Instrument,
) -> None:
    weights, chances = library()
    rows = cells(shown)
    assert_rows(rows, weights)
    assert [row[5] for row in rows] == WORDS[1:]
    found = [float(row[6]) for row in rows]
    right = chances[range(5), TOKENS[0, 1:]].tolist()
    assert found == pytest.approx(right, abs=0.0051)
    assert shown.panel.locator("td.hidden").count() == 10

    for t in range(5):
        button = shown.panel.locator('[name="decoding-row"]').nth(t)
        button.focus()
        if button.get_attribute("aria-pressed") == "false":
            button.press("Enter")
        expect(shown.panel.locator('[name="decoding-row"]').nth(t)).to_be_focused()
        assert shown.panel.locator("thead th.lit").all_inner_texts() == WORDS[: t + 1]
        assert shown.panel.locator("td.framed").all_inner_texts() == [WORDS[t + 1]] * 2
        expect(shown.panel.get_by_role("status")).to_contain_text(
            f"Row {t + 1} sees {' '.join(WORDS[: t + 1])} and has to answer “{WORDS[t + 1]}”"
        )


def test_without_the_mask_the_answer_leaks(shown: Instrument) -> None:
    assert shown.panel.locator(".leak").count() == 0
    shown.panel.get_by_label("Causal mask").click()
    hooks = [
        layer.self_attention.register_forward_pre_hook(
            lambda module, args, kwargs: (args, kwargs | {"is_causal": False}), with_kwargs=True
        )
        for layer in MODEL.decoder.layers
    ]
    weights, _ = library()
    for hook in hooks:
        hook.remove()
    assert weights[0, 1] > 0
    assert_rows(cells(shown), weights)
    table = shown.panel.locator("table").last
    leaks = table.locator("td.leak").evaluate_all(
        "all => all.map(one => [one.parentElement.rowIndex - 1, one.cellIndex - 1])"
    )
    assert leaks == [[t, t + 1] for t in range(4)]
    assert shown.panel.locator("table").first.locator("td.leak").all_inner_texts() == ["thirty"]
    expect(shown.panel.get_by_role("status")).to_contain_text("the answer leaks")


def test_decoding_adds_a_row_a_step_and_a_cache_computes_that_row_alone(shown: Instrument) -> None:
    choose(shown, "Watch", "decoding")
    shown.panel.get_by_label("Decoding step").press("Home")
    work = {False: 0, True: 0}
    for step in range(1, 6):
        weights, chances = library(step)
        for cache in (False, True):
            shown.panel.get_by_label("Decode with a cache").set_checked(cache)
            keys, *rows = cells(shown)
            assert keys[:step].count("kept") == (step - 1 if cache else 0)
            computed = [row for row in rows if row[-1] in ("computed", "again")]
            work[cache] += len(computed)
            assert len(computed) == (1 if cache else step)
            assert_rows(computed, weights[-len(computed) :])
            assert rows[-1][step : step + 2] == [WORDS[step], f"{chances[-1].max():.2f}"]
            said = f"computed in all so far: {work[cache]}"
            expect(shown.panel.get_by_role("status")).to_contain_text(said)
        if step < 5:
            shown.panel.get_by_role("button", name="Next step").click()
    assert work == {False: 15, True: 5}
    expect(shown.panel.get_by_role("status")).to_contain_text("That's the end")
    shown.panel.get_by_role("button", name="Start again").click()
    assert shown.state()["step"] == 1


def test_without_the_mask_decoding_goes_another_way_unless_there_is_a_cache(
    shown: Instrument,
) -> None:
    """What was written before sees what was written later, but not if it is kept."""
    choose(shown, "Watch", "decoding")
    choose(shown, "Source", "一万五千")
    shown.set({"causal": False, "step": 6})
    assert [row[-3] for row in cells(shown)[1:]] == ["fifteen", "<eos>"]
    shown.panel.get_by_label("Decode with a cache").click()
    assert shown.state()["step"] == 6
    assert cells(shown)[-1][-3] == "<eos>"
    assert len(cells(shown)) == 1 + 3
