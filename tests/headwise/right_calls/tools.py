"""Right calls of what looks on, measures, trains and translates."""

import datetime
from pathlib import Path

import torch

from headwise import data_parallel, heads, timing, trace
from headwise.models import numerals, translator, translator_training
from headwise.models.translator_training import Training
from right_calls.call import ANY_DTYPE, ANYWHERE, TOKENS, WHOLE, Call, K, Table, X, mha

CPU = torch.device("cpu")
NUMBERS = torch.tensor([5, 12])

RIGHT: Table = {
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
    "numerals.parse_chinese": lambda: Call(numerals.parse_chinese, {"text": "三百零五"}),
    "numerals.to_chinese": lambda: Call(numerals.to_chinese, {"n": 5}),
    "numerals.to_english": lambda: Call(numerals.to_english, {"n": 5}),
    "timing.measure": lambda: Call(
        timing.measure, {"device": CPU, "shape": (1, 2, 3, 4), "dtype": torch.float32}
    ),
    "timing.own_device": lambda: Call(timing.own_device, {}),
    "timing.peak_bytes": lambda: Call(timing.peak_bytes, {"step": list, "device": CPU}),
    "timing.usual_dtype": lambda: Call(timing.usual_dtype, {"device": CPU}),
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
    "trace.trace": lambda: Call(
        trace.trace, {"function": heads.merge_heads, "x": K}, {"function": {"class"}}
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
}
