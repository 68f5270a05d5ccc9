"""Right calls of everything public in headwise, from which the tests make wrong ones.

A module that is listed in MODULES needs a right call for each of its public functions, classes
and methods. A parameter may be free of a rule: then what breaks the rule is right as well.
"""

import datetime
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from headwise import (
    attention,
    convert,
    data_parallel,
    feed_forward,
    heads,
    layers,
    masks,
    multi_head,
    positional,
    single_head,
    timing,
    trace,
    transformer,
    variants,
)
from headwise.layers import LayerCache
from headwise.models import numerals, translator, translator_training
from headwise.models.translator_training import Training
from headwise.multi_head import KeyValueCache

MODULES: list[ModuleType] = [
    attention,
    convert,
    data_parallel,
    feed_forward,
    heads,
    layers,
    masks,
    multi_head,
    numerals,
    positional,
    single_head,
    timing,
    trace,
    transformer,
    translator,
    translator_training,
    variants,
]
# Records, which hold whatever they are given, and what takes nothing or is a test of its own.
RECORDS = {"convert.Projection", "timing.Cost", "trace.Step", "transformer.Weights"}
UNCHECKED = {"data_parallel.main", "timing.main", "translator.main"}  # they take words, not values


@dataclass
class Call:
    """A right call: what to call, with what, and which rules do not bind which parameter."""

    function: Callable[..., object]
    arguments: dict[str, Any]
    free: Mapping[str, set[str]] = field(default_factory=dict)
    run: Callable[[Any], object] = lambda result: result  # what else it takes to get going

    def __call__(self, **changes: Any) -> object:
        arguments = {**self.arguments, **changes}
        positional = arguments.pop("*", ())
        return self.run(self.function(*positional, **arguments))

    def watched(self) -> list[object]:
        """Modules and caches that a wrong call leaves as they are."""
        things = [getattr(self.function, "__self__", self.function), *self.arguments.values()]
        for several in (x for x in tuple(things) if isinstance(x, list)):
            things += several
        return [x for x in things if isinstance(x, nn.Module | KeyValueCache | LayerCache)]


X = torch.randn(2, 3, 8)
TOKENS = torch.tensor([[3, 4, 5], [4, 3, 0]])
SEEN = torch.ones(3, 3, dtype=torch.bool)
PADDING = masks.padding_mask(torch.tensor([3, 2]))
ANY_DTYPE = {"bool", "long", "complex", "double", "half"}
ANYWHERE = {"meta"}
WHOLE = {"rank+1", "rank-1", "longer"}
CPU = torch.device("cpu")


def mha() -> multi_head.MultiHeadAttention:
    return multi_head.MultiHeadAttention(8, 2)


def model() -> transformer.Transformer:
    return transformer.Transformer(9, 8, d_model=8, num_heads=2, num_layers=2)


def mode(module: nn.Module, *, of: str | None = None, **arguments: Any) -> Call:
    """A call of a module, or of one of its methods."""
    free = arguments.pop("free", {})
    return Call(module if of is None else getattr(module, of), arguments, free)


def cached() -> Call:
    """A whole decoder in the middle of a sequence."""
    whole = model().eval()
    cache = whole.decoder.new_cache()
    memory, mask = torch.randn(2, 4, 8), None
    whole.decode(TOKENS[:, :2], memory, mask, cache)
    arguments = {"tgt": TOKENS, "memory": memory, "memory_mask": mask, "cache": cache}
    return Call(whole.decode, arguments, {"tgt": {"longer"}})


def decoder_layer() -> Call:
    layer, cache = layers.DecoderLayer(8, 2), layers.LayerCache()
    layer(X[:, :2], X, cache=cache)
    arguments = {"x": X[:, 2:], "memory": X, "mask": SEEN[2:], "memory_mask": SEEN[2:]}
    arguments |= {"cache": cache, "need_weights": False}
    return Call(layer, arguments)


def decoder() -> Call:
    stack = transformer.Decoder([layers.DecoderLayer(8, 2) for _ in range(2)])
    cache = stack.new_cache()
    stack(X[:, :2], X, cache=cache)
    arguments = {"x": X[:, 2:], "memory": X, "mask": SEEN[2:], "memory_mask": SEEN[2:]}
    arguments |= {"cache": cache, "need_weights": False}
    return Call(stack, arguments)


def self_attention() -> Call:
    layer, cache = mha(), KeyValueCache()
    layer(X[:, :2], cache=cache)
    arguments = {"query": X[:, 2:], "mask": SEEN[2:], "cache": cache}
    arguments |= {"is_causal": True, "need_weights": False}
    return Call(layer, arguments)


def recall() -> Call:
    layer, cache = mha(), KeyValueCache()
    layer(X, cache=cache)
    arguments = {"layer": layer, "query": X, "key": X, "value": X}
    free = {name: {"same"} for name in ("query", "key", "value")}
    return Call(cache.recall, arguments, free)


def held(fixed: bool = False) -> KeyValueCache:
    cache = KeyValueCache(fixed=fixed)
    mha()(X, *([X.clone()] if fixed else []), cache=cache)
    return cache


K = torch.randn(2, 2, 3, 4)
TENSORS = {"query": X, "key": X, "value": X}
SIZE = {"d_model": 8, "num_heads": 2}
LAYER = {**SIZE, "d_ff": 16, "dropout": 0.1, "activation": "relu", "norm_first": False}
ANY_VALUE = {"x": ANY_DTYPE | ANYWHERE}
NUMBERS = torch.tensor([5, 12])
MASK = torch.ones(2, 3, 3, dtype=torch.bool)
ZERO_ONE = {"long", "double", "half"}

RIGHT: dict[str, Callable[[], Call]] = {
    "attention.attention": lambda: Call(
        attention.attention,
        {"Q": X, "K": X, "V": X, "mask": SEEN, "dropout": 0.0},
        {"V": {"longer"}, "mask": {"rank+1"}},
    ),
    "attention.fused_attention": lambda: Call(
        attention.fused_attention,
        {"Q": X, "K": X, "V": X, "mask": SEEN, "dropout": 0.0, "is_causal": True},
        {"V": {"longer"}, "mask": {"rank+1"}},
    ),
    "convert.convert": lambda: Call(convert.convert, {"source": mha(), "target": mha()}),
    "convert.projections": lambda: Call(convert.projections, {"module": mha()}),
    "convert.head_count": lambda: Call(convert.head_count, {"module": mha()}),
    "data_parallel.joined": lambda: Call(
        data_parallel.joined, {"timeout": 60.0}, run=lambda group: group.__enter__()
    ),
    "data_parallel.reversal_loss": lambda: Call(
        data_parallel.reversal_loss,
        {"model": data_parallel.small_model(), "tokens": TOKENS},
        {"model": {"module"}, "tokens": {"longer"}},
    ),
    "data_parallel.share": lambda: Call(
        data_parallel.share, {"rows": X}, {"rows": WHOLE | ANY_DTYPE | ANYWHERE}
    ),
    "data_parallel.small_model": lambda: Call(data_parallel.small_model, {}),
    "data_parallel.train": lambda: Call(
        data_parallel.train,
        {"model": data_parallel.small_model(), "device": CPU, "steps": 1},
        {"model": {"module"}},
        run=list,
    ),
    "data_parallel.whole_batch": lambda: Call(data_parallel.whole_batch, {"step": 0}),
    "feed_forward.FeedForward": lambda: Call(
        feed_forward.FeedForward,
        {"d_model": 8, "d_ff": 16, "dropout": 0.1, "activation": "relu"},
    ),
    "feed_forward.FeedForward.forward": lambda: mode(feed_forward.FeedForward(8), x=X),
    "heads.split_heads": lambda: Call(heads.split_heads, {"x": X, "num_heads": 2}, ANY_VALUE),
    "heads.merge_heads": lambda: Call(
        heads.merge_heads, {"x": K}, {"x": ANY_DTYPE | ANYWHERE | {"longer"}}
    ),
    "heads.fold_heads": lambda: Call(heads.fold_heads, {"x": X, "num_heads": 2}, ANY_VALUE),
    "heads.unfold_heads": lambda: Call(
        heads.unfold_heads, {"x": X, "num_heads": 2}, {"x": ANY_DTYPE | ANYWHERE | {"longer"}}
    ),
    "layers.DecoderLayer": lambda: Call(layers.DecoderLayer, LAYER),
    "layers.DecoderLayer.forward": decoder_layer,
    "layers.EncoderLayer": lambda: Call(layers.EncoderLayer, LAYER),
    "layers.EncoderLayer.forward": lambda: mode(
        layers.EncoderLayer(8, 2), x=X, mask=SEEN, is_causal=False, need_weights=False
    ),
    "layers.LayerCache": lambda: Call(layers.LayerCache, {"own": held(), "memory": held(True)}),
    "layers.LayerCache.copy": lambda: Call(layers.LayerCache().copy, {}),
    "layers.LayerCache.update": lambda: Call(
        layers.LayerCache().update, {"other": layers.LayerCache()}
    ),
    "layers.Residual": lambda: Call(
        layers.Residual, {"d_model": 8, "dropout": 0.1, "norm_first": True}
    ),
    "layers.Residual.enter": lambda: mode(layers.Residual(8, norm_first=True), of="enter", x=X),
    "layers.Residual.leave": lambda: mode(layers.Residual(8), of="leave", x=X, change=X),
    "masks.causal_mask": lambda: Call(
        masks.causal_mask, {"seq_len": 3, "key_len": 4, "device": "cpu"}
    ),
    "masks.padding_mask": lambda: Call(
        masks.padding_mask,
        {"lengths": torch.tensor([3, 2]), "seq_len": 3},
        {"lengths": {"meta", "longer"}},
    ),
    "masks.combine": lambda: Call(masks.combine, {"*": (SEEN, PADDING)}),
    "masks.to_sdpa": lambda: Call(masks.to_sdpa, {"mask": SEEN}, {"mask": WHOLE | ANYWHERE}),
    "masks.from_sdpa": lambda: Call(
        masks.from_sdpa, {"attn_mask": SEEN}, {"attn_mask": WHOLE | ANYWHERE}
    ),
    "masks.to_attn_mask": lambda: Call(
        masks.to_attn_mask, {"mask": PADDING, "scores": (2, 2, 3, 3)}, {"mask": ANYWHERE}
    ),
    "masks.from_attn_mask": lambda: Call(
        masks.from_attn_mask,
        {"attn_mask": X > 0, "num_heads": 2},
        {"attn_mask": ANYWHERE | {"longer", "rank-1"}},
    ),
    "masks.to_key_padding_mask": lambda: Call(
        masks.to_key_padding_mask, {"mask": PADDING}, {"mask": ANYWHERE | {"longer"}}
    ),
    "masks.from_key_padding_mask": lambda: Call(
        masks.from_key_padding_mask,
        {"key_padding_mask": SEEN},
        {"key_padding_mask": ANYWHERE | {"longer"}},
    ),
    "masks.to_additive": lambda: Call(
        masks.to_additive, {"mask": SEEN, "dtype": torch.float32}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_additive": lambda: Call(
        masks.from_additive,
        {"additive": torch.zeros(3, 3)},
        {"additive": WHOLE | ANYWHERE | {"double", "half"}},
    ),
    "masks.to_attention_mask": lambda: Call(
        masks.to_attention_mask, {"mask": PADDING}, {"mask": ANYWHERE | {"longer"}}
    ),
    "masks.from_attention_mask": lambda: Call(
        masks.from_attention_mask,
        {"attention_mask": SEEN.long()},
        {"attention_mask": ANYWHERE | {"longer", "bool", "double", "half"}},
    ),
    "masks.to_valid_lens": lambda: Call(masks.to_valid_lens, {"mask": PADDING}, {"mask": ANYWHERE}),
    "masks.from_valid_lens": lambda: Call(
        masks.from_valid_lens,
        {"valid_lens": torch.tensor([3, 2]), "key_len": 3},
        {"valid_lens": ANYWHERE | {"rank+1", "longer"}},
    ),
    "masks.to_zero_hides": lambda: Call(
        masks.to_zero_hides, {"mask": SEEN, "dtype": torch.long}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_zero_hides": lambda: Call(
        masks.from_zero_hides,
        {"zero_hides": SEEN.long()},
        {"zero_hides": WHOLE | ANYWHERE | {"bool", "double", "half"}},
    ),
    "masks.to_one_hides": lambda: Call(
        masks.to_one_hides, {"mask": SEEN, "dtype": torch.long}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_one_hides": lambda: Call(
        masks.from_one_hides,
        {"one_hides": SEEN.long()},
        {"one_hides": WHOLE | ANYWHERE | {"bool", "double", "half"}},
    ),
    "multi_head.KeyValueCache": lambda: Call(multi_head.KeyValueCache, {"fixed": False}),
    "multi_head.KeyValueCache.copy": lambda: Call(held().copy, {}),
    "multi_head.KeyValueCache.keep": lambda: Call(
        held().keep,
        {"layer": mha(), "K": K, "V": K},
        {"K": ANY_DTYPE | ANYWHERE, "V": ANY_DTYPE | ANYWHERE},
    ),
    "multi_head.KeyValueCache.recall": recall,
    "multi_head.KeyValueCache.update": lambda: Call(held().update, {"other": held()}),
    "multi_head.MultiHeadAttention": lambda: Call(
        multi_head.MultiHeadAttention,
        {**SIZE, "d_k": 4, "d_v": 4, "key_dim": 8, "value_dim": 8, "bias": True, "dropout": 0.1},
    ),
    "multi_head.MultiHeadAttention.forward": self_attention,
    "multi_head.MultiHeadAttention.project_keys": lambda: mode(
        mha(), of="project_keys", key=X, value=X
    ),
    "numerals.parse_chinese": lambda: Call(numerals.parse_chinese, {"text": "三百零五"}),
    "numerals.to_chinese": lambda: Call(numerals.to_chinese, {"n": 5}),
    "numerals.to_english": lambda: Call(numerals.to_english, {"n": 5}),
    "positional.LearnedPositions": lambda: Call(
        positional.LearnedPositions, {"max_len": 7, "d_model": 8}
    ),
    "positional.LearnedPositions.forward": lambda: mode(
        positional.LearnedPositions(7, 8), x=X, start=2
    ),
    "positional.SinusoidalPositions": lambda: Call(positional.SinusoidalPositions, {}),
    "positional.SinusoidalPositions.forward": lambda: mode(
        positional.SinusoidalPositions(),
        x=X,
        start=2,
        free={"x": ANYWHERE | {"double", "half", "longer"}},
    ),
    "positional.frequencies": lambda: Call(
        positional.frequencies, {"d_model": 8, "dtype": torch.float32, "device": "cpu"}
    ),
    "positional.shift_matrix": lambda: Call(
        positional.shift_matrix, {"k": 2, "d_model": 8, "dtype": torch.float64}, {"k": {"negative"}}
    ),
    "positional.sinusoidal": lambda: Call(
        positional.sinusoidal,
        {"seq_len": 3, "d_model": 8, "start": 2, "dtype": torch.float32, "device": "cpu"},
    ),
    "single_head.LinearHead": lambda: Call(single_head.LinearHead, {"d_model": 8}),
    "single_head.LinearHead.forward": lambda: mode(
        single_head.LinearHead(8), x=X, mask=SEEN, free={"mask": {"rank+1"}}
    ),
    "single_head.ParameterHead": lambda: Call(single_head.ParameterHead, {"d_model": 8}),
    "single_head.ParameterHead.forward": lambda: mode(
        single_head.ParameterHead(8), x=X, mask=SEEN, free={"mask": {"rank+1"}}
    ),
    "timing.measure": lambda: Call(
        timing.measure, {"device": CPU, "shape": (1, 2, 3, 4), "dtype": torch.float32}
    ),
    "timing.own_device": lambda: Call(timing.own_device, {}),
    "timing.peak_bytes": lambda: Call(timing.peak_bytes, {"step": list, "device": CPU}),
    "timing.seconds": lambda: Call(timing.seconds, {"step": list, "device": CPU, "repetitions": 1}),
    "timing.table": lambda: Call(
        timing.table,
        {"costs": {"a": timing.Cost(1.0, None)}, "machine": "m", "date": datetime.date.today()},
        {"machine": {"str"}},
    ),
    "timing.wait_for": lambda: Call(timing.wait_for, {"device": CPU}),
    "trace.Trace": lambda: Call(trace.Trace, {"steps": [trace.Step("x", (2,), "f", 0)]}),
    "trace.Trace.markdown": lambda: Call(trace.Trace().markdown, {"names": {"batch": 2}}),
    "trace.Trace.within": lambda: Call(
        trace.Trace().within, {"function": "f"}, {"function": {"str"}}
    ),
    "trace.trace": lambda: Call(trace.trace, {"function": heads.merge_heads, "x": K}),
    "transformer.Decoder": lambda: Call(
        transformer.Decoder, {"layers": [layers.DecoderLayer(8, 2)]}
    ),
    "transformer.Decoder.forward": decoder,
    "transformer.Decoder.new_cache": lambda: Call(model().decoder.new_cache, {}),
    "transformer.Encoder": lambda: Call(
        transformer.Encoder, {"layers": [layers.EncoderLayer(8, 2)]}
    ),
    "transformer.Encoder.forward": lambda: mode(
        transformer.Encoder([layers.EncoderLayer(8, 2)]),
        x=X,
        mask=SEEN,
        is_causal=False,
        need_weights=False,
    ),
    "transformer.Transformer": lambda: Call(
        transformer.Transformer,
        {"src_vocab": 9, "tgt_vocab": 8, **LAYER, "num_layers": 1, "max_len": 7, "pad": 0}
        | {"tie_weights": False},
    ),
    "transformer.Transformer.decode": cached,
    "transformer.Transformer.embed_src": lambda: mode(
        model(), of="embed_src", src=TOKENS, free={"src": {"longer"}}
    ),
    "transformer.Transformer.embed_tgt": lambda: mode(
        model(), of="embed_tgt", tgt=TOKENS, start=0, free={"tgt": {"longer"}}
    ),
    "transformer.Transformer.forward": lambda: mode(
        model(),
        src=TOKENS,
        tgt=TOKENS,
        src_lengths=torch.tensor([3, 2]),
        tgt_lengths=torch.tensor([3, 2]),
        need_weights=False,
        free={"src": {"longer"}, "tgt": {"longer"}},
    ),
    "transformer.Transformer.generate": lambda: mode(
        model(),
        of="generate",
        src=TOKENS,
        max_len=2,
        bos=1,
        eos=2,
        src_lengths=torch.tensor([3, 2]),
        use_cache=True,
        need_logits=False,
        free={"src": {"longer"}},
    ),
    "transformer.Transformer.visible": lambda: mode(
        model(),
        of="visible",
        tokens=TOKENS,
        lengths=torch.tensor([3, 2]),
        free={"tokens": ANYWHERE | {"longer"}},
    ),
    "translator.decode_words": lambda: Call(
        translator.decode_words, {"tokens": TOKENS}, {"tokens": {"longer"}}
    ),
    "translator.encode": lambda: Call(translator.encode, {"texts": ["三"]}),
    "translator.encode_words": lambda: Call(translator.encode_words, {"texts": ["three"]}),
    "translator.load": lambda: Call(translator.load, {"path": translator.CHECKPOINT}),
    "translator.new_model": lambda: Call(translator.new_model, {"seed": 0}),
    "translator.say": lambda: Call(
        translator.say, {"model": translator.new_model(), "texts": ["三"], "use_cache": True}
    ),
    "translator.translate": lambda: Call(
        translator.translate, {"texts": ["三"], "model": translator.new_model()}
    ),
    "translator_training.Training": lambda: Call(
        Training, {"model": translator.new_model(), "seed": 0, "steps": 2}
    ),
    "translator_training.Training.advance": lambda: Call(Training(steps=1).advance, {"count": 0}),
    "translator_training.Training.load_state_dict": lambda: Call(
        Training(steps=1).load_state_dict, {"state": Training(steps=1).state_dict()}
    ),
    "translator_training.Training.state_dict": lambda: Call(Training(steps=1).state_dict, {}),
    "translator_training.accuracy": lambda: Call(
        translator_training.accuracy, {"model": translator.new_model(), "count": 1}
    ),
    "translator_training.draw": lambda: Call(
        translator_training.draw, {"count": 2, "generator": torch.Generator()}
    ),
    "translator_training.exact": lambda: Call(
        translator_training.exact,
        {"model": translator.new_model(), "numbers": NUMBERS, "use_cache": True},
        {"numbers": {"longer"}},
    ),
    "translator_training.fingerprint": lambda: Call(
        translator_training.fingerprint, {"model": mha()}, {"model": {"module"}}
    ),
    "translator_training.held_out": lambda: Call(
        translator_training.held_out, {"numbers": NUMBERS}, {"numbers": {"longer", "meta"}}
    ),
    "translator_training.held_out_numbers": lambda: Call(
        translator_training.held_out_numbers, {"count": 2, "seed": 0}
    ),
    "translator_training.in_ranges": lambda: Call(
        translator_training.in_ranges, {"numbers": NUMBERS}, {"numbers": {"longer", "meta"}}
    ),
    "translator_training.learning_rate": lambda: Call(
        translator_training.learning_rate, {"step": 0, "steps": 2}
    ),
    "translator_training.one_thread": lambda: Call(translator_training.one_thread, {}),
    "translator_training.range_numbers": lambda: Call(
        translator_training.range_numbers, {"count": 2, "seed": 0}
    ),
    "translator_training.recipe": lambda: Call(
        translator_training.recipe, {"training": Training(steps=1), "count": 1}
    ),
    "translator_training.train": lambda: Call(
        translator_training.train,
        {"out": Path("own.pt"), "seed": 0, "steps": 1, "count": 1, "resume": False},
    ),
    "translator_training.training_numbers": lambda: Call(
        translator_training.training_numbers, {"count": 2, "seed": 0}
    ),
    "variants.SeparateInputs": lambda: Call(variants.SeparateInputs, {**SIZE, "dropout": 0.1}),
    "variants.SeparateInputs.forward": lambda: mode(
        variants.SeparateInputs(8, 2), **TENSORS, mask=MASK, free={"mask": ZERO_ONE}
    ),
    "variants.MethodSteps": lambda: Call(variants.MethodSteps, SIZE),
    "variants.MethodSteps.forward": lambda: mode(
        variants.MethodSteps(8, 2), Q=X, K=X, V=X, mask=SEEN, free={"mask": ZERO_ONE}
    ),
    "variants.MethodSteps.split_heads": lambda: mode(
        variants.MethodSteps(8, 2), of="split_heads", x=X, free=ANY_VALUE
    ),
    "variants.MethodSteps.combine_heads": lambda: mode(
        variants.MethodSteps(8, 2), of="combine_heads", x=K, free=ANY_VALUE
    ),
    "variants.MethodSteps.scaled_dot_product_attention": lambda: mode(
        variants.MethodSteps(8, 2),
        of="scaled_dot_product_attention",
        Q=K,
        K=K,
        V=K,
        mask=SEEN,
        free={"V": {"longer"}, "mask": ZERO_ONE},
    ),
    "variants.FoldedHeads": lambda: Call(
        variants.FoldedHeads,
        {"key_size": 8, "query_size": 8, "value_size": 8, "num_hiddens": 8}
        | {"num_heads": 2, "dropout": 0.1, "bias": False},
    ),
    "variants.FoldedHeads.forward": lambda: mode(
        variants.FoldedHeads(8, 8, 8, 8, 2, 0.1),
        queries=X,
        keys=X,
        values=X,
        valid_lens=torch.tensor([3, 2]),
    ),
    "variants.OneHides": lambda: Call(variants.OneHides, {"hidden_size": 8, "num_heads": 2}),
    "variants.OneHides.forward": lambda: mode(
        variants.OneHides(8, 2),
        hidden_state=X,
        attention_mask=~SEEN,
        free={"attention_mask": ZERO_ONE},
    ),
    "variants.OneHides.split_head": lambda: mode(
        variants.OneHides(8, 2), of="split_head", x=X, free=ANY_VALUE
    ),
    "variants.ParameterOnly": lambda: Call(variants.ParameterOnly, SIZE),
    "variants.ParameterOnly.forward": lambda: mode(
        variants.ParameterOnly(8, 2), x=X, mask=SEEN, free={"mask": ZERO_ONE}
    ),
}


def public(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Functions, classes and methods that the module itself defines, by their names."""
    short = module.__name__.rpartition(".")[2]
    found: dict[str, Callable[..., Any]] = {}
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing) or inspect.isclass(thing):
            found[f"{short}.{name}"] = thing
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    found[f"{short}.{name}.{method}"] = function
    return {
        name: thing
        for name, thing in found.items()
        if name not in UNCHECKED
        and not any(name == record or name.startswith(f"{record}.") for record in RECORDS)
        and not name.endswith("extra_repr")
        and ".check_" not in name
    }
