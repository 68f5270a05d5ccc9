"""The decoder-only model: its shapes, what may see what, and its cache."""

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from torch import nn

from headwise import KeyValueCache
from headwise.decoder_only import DecoderOnly
from headwise.positional import sinusoidal
from headwise.rotary import Rotary

VOCAB = 11
KINDS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned", "norm": "layer", "activation": "gelu", "bias": True},
    "sinusoidal": {"positions": "sinusoidal", "tied": False},
    "rotary, halves": {"positions": "rotary", "num_kv_heads": 2},
    "rotary, pairs": {"positions": "rotary", "layout": "pairs", "scale": 2.0, "theta": 100.0},
    "none": {"positions": "none", "num_kv_heads": 1, "d_k": 6},
    "alibi": {"positions": "alibi", "num_kv_heads": 2},
    "window": {"window": 3, "qk_norm": True},
    "window, sinks": {"window": 3, "sinks": 2},
    "window, alibi": {"positions": "alibi", "window": 4, "sinks": 1, "learned_sink": True},
    "window, learned": {"positions": "learned", "window": 4},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def shaken(module: nn.Module) -> nn.Module:
    """The module with no weight left as it was initialised, norms and biases included."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
    return module


def model(**options: Any) -> DecoderOnly:
    torch.manual_seed(0)
    module = DecoderOnly(VOCAB, 16, 4, 2, **{"max_len": 24, **options}).double()
    return shaken(module).eval()  # type: ignore[return-value]


def some_tokens(batch: int = 3, length: int = 9) -> torch.Tensor:
    return torch.randint(0, VOCAB, (batch, length), generator=torch.Generator().manual_seed(1))


def assert_same(ours: Any, theirs: Any, atol: float = 1e-10) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


@every_kind
def test_later_tokens_change_nothing_before_them(options: dict[str, Any]) -> None:
    module, tokens = model(**options), some_tokens()
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % VOCAB
    here, there = module(tokens), module(changed)
    assert here.shape == (3, 9, VOCAB)
    assert_same(here[:, :5], there[:, :5])
    assert not torch.allclose(here[:, 5:], there[:, 5:])


@every_kind
def test_cached_steps_equal_one_call(options: dict[str, Any]) -> None:
    module, tokens, cache = model(**options), some_tokens(), None
    for cache in (module.new_cache(), module.new_cache(9)):
        parts = [module(part, cache=cache) for part in tokens.split((4, 1, 1, 3), dim=1)]
        assert_same(torch.cat(parts, dim=1), module(tokens))
        assert [part.length for part in cache] == [9, 9]


@every_kind
def test_left_padding_with_positions_and_a_mask_changes_nothing(options: dict[str, Any]) -> None:
    module, tokens, pads = model(**options), some_tokens(), 3
    padded = torch.cat((torch.zeros(3, pads, dtype=torch.long), tokens), dim=1)
    positions = torch.arange(-pads, 9).clamp(min=0).expand(3, -1)
    mask = (torch.arange(-pads, 9) >= 0).expand(3, 1, 1, -1)
    assert_same(module(padded, mask, positions=positions)[:, pads:], module(tokens))


def test_positions_matter_where_there_are_any() -> None:
    for name, options in KINDS.items():
        module, tokens = model(**options), some_tokens()
        # Distances double; without positions nothing can tell.
        spread = module(tokens, positions=2 * torch.arange(9))
        assert torch.allclose(spread, module(tokens)) is (name == "none")


def test_a_window_holds_back_what_lies_before_it() -> None:
    """Of two layers that see 3 keys each, the last token sees the last 5 tokens, and the sink."""
    for sinks, first in ((0, False), (1, True)):
        module, tokens = model(window=3, sinks=sinks), some_tokens()
        embedded = module.embedding(tokens).detach().requires_grad_()
        x = embedded
        for block in module.blocks:
            x = block(x)
        x[:, -1].sum().backward()
        assert embedded.grad is not None
        seen = embedded.grad.abs().sum(-1).gt(0)[0].tolist()
        assert seen == [first, False, False, False, *[True] * 5]


def test_cache_of_a_window_is_a_ring_if_wanted() -> None:
    module, tokens = model(window=3, sinks=1), some_tokens()
    ring, whole = module.new_cache(9), module.new_cache(9, ring=False)
    with torch.no_grad():
        for part in tokens.split((5, 1, 1, 1, 1), dim=1):
            assert_same(module(part, cache=ring), module(part, cache=whole))
    assert [part.K.size(2) for part in ring if part.K is not None] == [4, 4]
    assert [part.K.size(2) for part in whole if part.K is not None] == [9, 9]


def test_sinusoidal_positions_are_the_sine_code_and_not_learned() -> None:
    torch.manual_seed(0)
    module = DecoderOnly(VOCAB, 16, 4, 1, max_len=5, positions="sinusoidal")
    assert module.position_embedding is not None
    assert torch.equal(module.position_embedding.weight, sinusoidal(5, 16))
    module(torch.tensor([[1, 2, 3]])).sum().backward()
    assert module.position_embedding.weight.grad is None


def test_tied_weights_are_one_matrix_and_stay_so() -> None:
    for module in (model(tied=True), copy.deepcopy(model(tied=True)), model(tied=True).float()):
        assert module.W_vocab.weight is module.embedding.weight
    module = model(tied=False)
    assert module.W_vocab.weight is not module.embedding.weight
    tied = model(tied=True)
    tied.load_state_dict(model(tied=True).state_dict())
    assert tied.W_vocab.weight is tied.embedding.weight
    names = [name for name, _ in tied.named_parameters()]
    assert "embedding.weight" in names and "W_vocab.weight" not in names


def test_what_a_block_adds_starts_smaller() -> None:
    torch.manual_seed(0)
    module = DecoderOnly(VOCAB, 64, 4, 8)
    for name, weight in module.named_parameters():
        if weight.dim() == 2:
            last = name.endswith(("W_o.weight", "W_2.weight"))
            assert weight.std().item() == pytest.approx(0.02 / 4 if last else 0.02, rel=0.2)


def test_shapes_of_the_known_models() -> None:
    """As many parameters as published: GPT-2 has 124,439,808, and Llama 2 of 7B 6,738,415,616."""
    with torch.device("meta"):
        gpt2 = DecoderOnly.gpt2_like(50_257, 768, 12, 12)
        llama = DecoderOnly.llama_like(32_000, 4096, 32, 32, d_ff=11_008)
    assert sum(weight.numel() for weight in gpt2.parameters()) == 124_439_808
    assert sum(weight.numel() for weight in llama.parameters()) == 6_738_415_616


def test_dropout_acts_while_training_only() -> None:
    module, tokens = model(dropout=0.5), some_tokens()
    assert torch.equal(module(tokens), module(tokens))
    module.train()
    assert not torch.equal(module(tokens), module(tokens))


@every_kind
def test_copies_pickles_saves_and_moves(options: dict[str, Any]) -> None:
    module, tokens = model(**options), some_tokens()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(tokens), module(tokens))
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    again = DecoderOnly(VOCAB, 16, 4, 2, **{"max_len": 24, **options}).double()
    again.load_state_dict(torch.load(file))
    assert torch.equal(again(tokens), module(tokens))
    assert_same(module.float()(tokens), again(tokens).float(), 1e-4)
    assert module.to("meta")(tokens.to("meta")).shape == (3, 9, VOCAB)


def test_learns_to_count() -> None:
    """A few steps of training bring the loss of 0, 1, 2, … down to next to nothing."""
    torch.manual_seed(0)
    module = DecoderOnly(VOCAB, 16, 2, 1)
    tokens = (torch.arange(12) + torch.arange(8)[:, None]) % VOCAB
    optimiser = torch.optim.AdamW(module.parameters(), lr=0.02)
    for _ in range(60):
        logits = module(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.1
    assert module.generate([[3, 4, 5], [9]], 4) == [[6, 7, 8, 9], [10, 0, 1, 2]]


def test_failed_call_leaves_the_cache_as_it_was() -> None:
    module, tokens = model(), some_tokens()
    cache = module.new_cache()
    module(tokens[:, :4], cache=cache)
    kept = [(part.K, part.V) for part in cache]

    def fail(*_: object) -> None:
        raise RuntimeError("on purpose")

    hook = module.blocks[1].feed_forward.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        module(tokens[:, 4:], cache=cache)
    hook.remove()
    assert [part.length for part in cache] == [4, 4]
    assert all(part.K is K and part.V is V for part, (K, V) in zip(cache, kept, strict=True))
    assert_same(module(tokens[:, 4:], cache=cache), module(tokens)[:, 4:])


def test_angles_are_worked_out_once_for_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out, turns = [], Rotary._turns

    def counted(self: Rotary, positions: torch.Tensor, *rest: Any) -> Any:
        worked_out.append(positions.tolist())
        return turns(self, positions, *rest)

    monkeypatch.setattr(Rotary, "_turns", counted)
    module = model()
    module.generate([[1, 2, 3]], 3)
    assert worked_out == [[0, 1, 2], [3], [4]]


def test_remembered_angles_are_those_of_the_positions_dtype_and_mode() -> None:
    module, tokens = model(), some_tokens(1, 2)
    with torch.inference_mode():
        module(tokens)
    module(tokens).sum().backward()  # which may not use what inference mode has made
    for where in ([0, 1], [0, 2], [5, 6]):
        positions = torch.tensor(where)
        fresh = model()(tokens, positions=positions)
        assert torch.equal(module(tokens, positions=positions), fresh)
        assert_same(module(tokens, positions=positions[None]), fresh)
    assert module.float()(tokens).dtype == torch.float32
    long = some_tokens(1, 70)  # more than are remembered
    assert_same(module.double()(long)[:, :2], module(long[:, :2]), 1e-6)


def filled(**options: Any) -> list[KeyValueCache]:
    module = model(**options)
    cache = module.new_cache()
    module(some_tokens(), cache=cache)
    return copy.deepcopy(cache)  # which belongs to no layer


TOKEN = torch.tensor([[1], [2], [3]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(torch.tensor([[VOCAB]])), "tokens: got 11 in it, expected 0 to 10"),
        (lambda: model()(torch.tensor([1, 2])), r"tokens: got shape \(2,\)"),
        (lambda: model(positions="learned")(some_tokens(1, 25)), "tokens: got positions 0 to 24"),
        (
            lambda: model(positions="learned")(TOKEN, positions=torch.tensor([24])),
            "positions: got 24 in it, expected 0 to 23",
        ),
        (lambda: model()(TOKEN, positions=torch.tensor([1, 2])), r"positions: got shape \(2,\)"),
        (lambda: model()(TOKEN, cache=[KeyValueCache()]), "cache: got parts of lengths"),
        (lambda: model()(TOKEN, cache=[KeyValueCache()] * 2), "cache: got parts of lengths"),
        (lambda: model()(TOKEN, cache=filled(num_kv_heads=2)), r"cache: got shape \(3, 2, 9, 4\)"),
        (lambda: model()(TOKEN[:2], cache=filled()), "cache: got one of batch 3"),
        (lambda: model().float()(TOKEN, cache=filled()), "cache: got dtype torch.float64"),
        (lambda: model(positions="circular"), "positions: got 'circular', expected one of"),
        (lambda: model(num_kv_heads=3), "num_kv_heads: got 3, expected a divisor"),
        (lambda: model(d_k=5), "d_k: got 5, expected an even number"),
        (lambda: DecoderOnly(5, 8, 3, 1), "num_heads: got 3, expected a divisor of d_model"),
        (lambda: DecoderOnly(0, 8, 2, 1), "vocab: got 0"),
        (lambda: DecoderOnly(5, 8, 2, 0), "num_layers: got 0"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_cache_of_another_model_is_refused() -> None:
    one, other = model(), model()
    cache = one.new_cache()
    one(some_tokens(), cache=cache)
    with pytest.raises(ValueError, match="cache: got one that another layer filled"):
        other(TOKEN, cache=cache)
    with pytest.raises(ValueError, match="cache: got one that another layer filled"):
        one(TOKEN, cache=cache[::-1])
