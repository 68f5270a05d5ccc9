"""The translator, worked as a person would; what it shows is what the library computes."""

import random
from collections.abc import Sequence

import pytest
import torch
from instrument import Instrument
from playwright.sync_api import expect
from torch import Tensor

from headwise.models import numerals, translator

MODEL = translator.load().half().float()
ATTENTIONS = {
    "e": [layer.attention for layer in MODEL.encoder.layers],
    "d": [layer.self_attention for layer in MODEL.decoder.layers],
    "s": [layer.cross_attention for layer in MODEL.decoder.layers],
}


def written(instrument: Instrument) -> list[str]:
    """The words on the page."""
    return instrument.panel.locator('[name="translator-word"]').all_inner_texts()


def looks(instrument: Instrument) -> list[float]:
    """The numbers beside the characters."""
    texts = instrument.panel.locator("ol").first.locator(".look").all_inner_texts()
    return [float(text) for text in texts if text]


def press(instrument: Instrument, name: str) -> None:
    instrument.panel.get_by_role("button", name=name, exact=True).click()


def enter(instrument: Instrument, text: str) -> None:
    instrument.panel.get_by_role("textbox").fill(text)


def library(
    text: str, hidden: Sequence[int] = (), off: Sequence[str] = ()
) -> tuple[list[str], Tensor]:
    """The model's words and the last layer's weights on the source, (heads, words, characters)."""
    hooks = []
    for one in off:
        attention, head = ATTENTIONS[one[0]][int(one[1]) - 1], int(one[2]) - 1
        on = torch.ones(4, 16)
        on[head] = 0
        gate = attention.W_o.register_forward_pre_hook(
            lambda module, args, on=on: (args[0] * on.flatten(),)
        )
        hooks.append(gate)
    src = translator.encode([text])
    mask = MODEL.visible(src)
    mask[..., list(hidden)] = False
    tokens = [translator.BOS]
    with torch.no_grad():
        memory = MODEL.encoder(MODEL.embed_src(src), mask)
        while len(tokens) <= translator.MAX_WORDS and tokens[-1] != translator.EOS:
            logits = MODEL.decode(torch.tensor([tokens]), memory, mask)
            tokens.append(int(logits[0, -1].argmax()))
        x = MODEL.embed_tgt(torch.tensor([tokens[:-1]]))
        _, _, weights = MODEL.decoder(x, memory, None, mask, need_weights=True)
    for hook in hooks:
        hook.remove()
    return [translator.TGT_TOKENS[token] for token in tokens[1:]], weights[1][0]


def test_it_writes_the_librarys_words(shown: Instrument) -> None:
    chance = random.Random(1)
    numbers = [chance.randrange(10 ** chance.randrange(1, 10)) for _ in range(30)]
    found = shown.element.evaluate(
        "(e, texts) => texts.map(text => { e.set({ text }); return e.result.words.join(' ') })",
        [str(n) for n in numbers],
    )
    texts = translator.translate([numerals.to_chinese(n) for n in numbers])
    assert found == [f"{text} <eos>" for text in texts]
    enter(shown, "三千五百二十四")
    assert written(shown) == ["three", "thousand", "five", "hundred", "twenty", "four", "<eos>"]


def test_numerals_are_read_as_the_library_reads_them(shown: Instrument) -> None:
    chance = random.Random(2)
    numbers = [chance.randrange(10 ** chance.randrange(1, 11)) for _ in range(300)]
    right = [numerals.to_chinese(n) for n in numbers if n <= numerals.LARGEST]
    spelled = [numerals._spell(n, every_zero=True) for n in numbers if n <= numerals.LARGEST]
    letters = [*numerals.CHARACTERS, "两", "〇", "五", "a"]
    mixed = ["".join(chance.choices(letters, k=chance.randrange(1, 7))) for _ in range(2000)]
    texts = [*right, *spelled, *(text.replace("二", "两") for text in right), *mixed]
    texts += ["千千", "一百五", "九千亿", "十亿", "", " 五 ", "一十五", "两万亿", "零零"]

    def value(text: str) -> int | None:
        try:
            return numerals.parse_chinese(text)
        except ValueError:
            return None

    found = shown.page.evaluate(
        """async texts => {
          const { parse } = await import("/assets/instruments/translation.js")
          return texts.map(parse).map(read => [read.problem ? null : read.value, read.text ?? null])
        }""",
        texts,
    )
    wanted = [(text, value(text)) for text in texts]
    assert sum(n is not None for _, n in wanted) > 400
    for (text, n), (ours, spelling) in zip(wanted, found, strict=True):
        assert (text, ours) == (text, n)
        if n is not None:
            assert spelling == numerals.to_chinese(n)


BAD = {
    "": "Enter a number",
    "hello": "“h” isn't part of a Chinese numeral",
    "NaN": "“N” isn't part of a Chinese numeral",
    "1e30": "“e” isn't part of a Chinese numeral",
    "-5": "“-” isn't part of a Chinese numeral",
    "二3": "“3” isn't part of a Chinese numeral",
    "千千": "That isn't a number",
    "十两万": "两 only goes before",
    "一百五": "If you mean 105, write 一百零五",
    "1000000000": "1,000,000,000 is too large",
    "9" * 30: "999,999,999,999,999,999,999,999 is too large",  # as many as it takes
    "九千亿": "900,000,000,000 is too large",
    "<img src=x>" * 2000: "isn't part of a Chinese numeral",
}


def test_bad_input_gets_a_plain_message(shown: Instrument) -> None:
    for text, said in BAD.items():
        enter(shown, text)
        expect(shown.panel.locator(".message")).to_contain_text(said)
        expect(shown.panel.get_by_role("status")).to_contain_text(said)
        assert shown.failed() is None
    enter(shown, "五")
    assert written(shown) == ["five", "<eos>"]


def test_keypad_and_examples_write_for_those_who_cannot(shown: Instrument) -> None:
    press(shown, "Clear")
    for key in "三百零五":
        press(shown, key)
    assert written(shown) == ["three", "hundred", "five", "<eos>"]
    press(shown, "Delete the last character")
    expect(shown.panel.locator(".message")).to_contain_text("If you mean 300, write 三百")
    press(shown, "二十三万五千 235,000")
    assert written(shown) == ["two", "hundred", "thirty", "five", "thousand", "<eos>"]


def test_pointing_at_a_word_shows_where_it_looks(shown: Instrument) -> None:
    _, weights = library("二百三十五")
    assert looks(shown) == []
    for t in range(5):
        shown.panel.locator('[name="translator-word"]').nth(t).hover()
        assert looks(shown) == pytest.approx(weights.mean(0)[t].tolist(), abs=0.0051)
        lit = shown.panel.locator("svg g:not(.dim)")
        assert lit.evaluate_all("all => all.map(one => one.dataset.word)") == [str(t + 1)]
    shown.panel.get_by_text("Write it word by word").hover()
    assert looks(shown) == []


def test_each_head_has_its_own_lines(shown: Instrument) -> None:
    _, weights = library("二百三十五")
    word = shown.panel.locator('[name="translator-word"]').nth(2)
    word.focus()
    word.press("Enter")
    for head in range(4):
        choice = shown.panel.get_by_role("group", name="Show head")
        choice.get_by_text(str(head + 1), exact=True).click()
        assert looks(shown) == pytest.approx(weights[head, 2].tolist(), abs=0.0051)
        widths = shown.panel.locator('svg g[data-word="3"] path').evaluate_all(
            "all => all.map(one => Number(one.getAttribute('stroke-width')))"
        )
        wide = [0.5 + 7 * x for x in weights[head, 2].tolist() if x >= 0.02]
        assert widths == pytest.approx(wide, abs=0.01)


def test_keyboard_keeps_its_place_when_a_word_is_chosen(shown: Instrument) -> None:
    word = shown.panel.locator('[name="translator-word"]').nth(1)
    word.focus()
    word.press("Enter")
    assert shown.state()["word"] == 2
    expect(shown.panel.locator('[name="translator-word"]').nth(1)).to_be_focused()
    expect(shown.panel.get_by_role("status")).to_contain_text("it looks most at 百")


def test_hidden_character_changes_the_words(shown: Instrument) -> None:
    words, _ = library("二百三十五", hidden=[3])
    assert words != library("二百三十五")[0]
    shown.panel.locator('[name="translator-hidden"]').nth(3).click()
    assert written(shown) == words
    expect(shown.panel.locator(".message")).to_contain_text("two hundred thirty five")
    shown.panel.locator('[name="translator-hidden"]').nth(3).click()
    assert written(shown) == library("二百三十五")[0]


def test_heads_are_switched_off_one_by_one_and_all_at_once(shown: Instrument) -> None:
    press(shown, "二十三万五千 235,000")
    row = "Decoder, layer 1, at the source"
    off = []
    for head in (1, 2, 3, 4):
        press(shown, f"{row}, head {head}")
        off.append(f"s1{head}")
        assert written(shown) == library("二十三万五千", off=off)[0]
    assert written(shown) != library("二十三万五千")[0]
    press(shown, f"{row}, all")
    assert shown.state()["off"] == []
    press(shown, "Encoder, layer 1, all")
    assert written(shown) == library("二十三万五千", off=["e11", "e12", "e13", "e14"])[0]


def test_mask_and_positions_are_switched_off(shown: Instrument) -> None:
    press(shown, "一万五千 15,000")
    shown.panel.get_by_label("Causal mask").click()
    hooks = [
        attention.register_forward_pre_hook(
            lambda module, args, kwargs: (args, kwargs | {"is_causal": False}), with_kwargs=True
        )
        for attention in ATTENTIONS["d"]
    ]
    words, _ = library("一万五千")
    for hook in hooks:
        hook.remove()
    assert written(shown) == words != library("一万五千")[0]
    shown.panel.get_by_label("Causal mask").click()
    shown.panel.get_by_label("Positions").click()
    hooks = [
        positions.register_forward_hook(lambda module, args, out: args[0])
        for positions in (MODEL.src_positions, MODEL.tgt_positions)
    ]
    words, _ = library("一万五千")
    for hook in hooks:
        hook.remove()
    assert written(shown) == words != library("一万五千")[0]


def test_it_writes_word_by_word_when_asked(shown: Instrument) -> None:
    """With a finger, and for a reader who wants nothing to move."""
    shown.page.emulate_media(reduced_motion="reduce")
    for count in (1, 2, 3):
        shown.tap(shown.panel.get_by_text("Write it word by word"))
        assert written(shown) == ["two", "hundred", "thirty"][:count]
    shown.tap(shown.panel.locator('[name="translator-word"]').nth(1))
    assert shown.state()["word"] == 2
    shown.page.emulate_media(reduced_motion="no-preference")
    shown.tap(shown.panel.get_by_text("Write it word by word"))
    expect(shown.panel.locator('[name="translator-word"]')).to_have_count(5)
