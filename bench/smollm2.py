"""How fast SmolLM2 writes, against transformers with the same weights, as a ratio.

    python bench/smollm2.py [--quick] [--json PATH]

Both write 64 tokens greedily from the same prompt, in float32, with their caches, interleaved in
one process on one thread, and have to write the same text. The weights are those that
`python -m headwise.models fetch smollm2` brings.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from headwise.models import published_names, smollm2
from headwise.rotary import pairs_to_halves

PROMPT = "The lighthouse keeper climbed the stairs every evening, because"
Write = Callable[[], list[int]]


def contenders(max_new: int) -> dict[str, Write]:
    """Ours, and theirs with our weights."""
    import transformers
    from transformers.initialization import no_init_weights

    loaded = smollm2.load()
    model, state = loaded.model, {}
    attention = model.blocks[0].attention
    for name in published_names.LLAMA:
        for i in range(len(model.blocks) if "{i}" in name.theirs else 1):
            weight = model.state_dict()[name.ours[0].replace("{i}", str(i))]
            if name.theirs.endswith(("q_proj.weight", "k_proj.weight")):
                weight = pairs_to_halves(weight, weight.size(0) // attention.d_k)
            state[name.theirs.replace("{i}", str(i))] = weight
    config = transformers.LlamaConfig(
        vocab_size=model.vocab,
        hidden_size=model.d_model,
        intermediate_size=model.blocks[0].feed_forward.d_ff,
        num_hidden_layers=len(model.blocks),
        num_attention_heads=attention.num_heads,
        num_key_value_heads=attention.num_kv_heads,
        rms_norm_eps=model.norm.eps,
        rope_parameters={"rope_type": "default", "rope_theta": attention.rotary.theta},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with no_init_weights():
        theirs = transformers.LlamaForCausalLM(config).eval()
    theirs.load_state_dict(state, assign=True)
    prompt = loaded.tokens.encode(PROMPT)

    def by_transformers() -> list[int]:
        text = theirs.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=max_new, pad_token_id=0
        )
        return text[0, len(prompt) :].tolist()

    return {
        "headwise": lambda: model.generate([prompt], max_new)[0],
        "headwise, streamed": lambda: list(model.stream(prompt, max_new)),
        "transformers": by_transformers,
    }


def main() -> None:
    """Measure, print Markdown, keep JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer, for a first look")
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "smollm2.json"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    max_new, repetitions = (16, 1) if options.quick else (64, 7)
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"The machine is busy (load {load:.1f}): close contenders will not be told apart")
    writers = contenders(max_new)
    names, texts = list(writers), []
    times: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(-1, repetitions):  # the first round warms up
        turn = repetition % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.perf_counter()
            texts.append(writers[name]())
            if repetition >= 0:
                times[name].append(time.perf_counter() - start)
        say(f"  round {repetition + 1} of {repetitions}", end="\r")
    say("")
    assert all(text == texts[0] for text in texts), "not all write the same text"
    assert len(texts[0]) == max_new
    ratios = {
        name: statistics.median(a / b for a, b in zip(times[name], times["headwise"], strict=True))
        for name in names[1:]
    }
    print(f"\nTime to write {max_new} tokens with SmolLM2, relative to headwise:\n")
    print(f"| {' | '.join(ratios)} |\n|{'---|' * len(ratios)}")
    print(f"| {' | '.join(f'{ratio:.2f}' for ratio in ratios.values())} |")
    result = {
        "quick": options.quick,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "repetitions": repetitions,
        "load_at_start": load,
        "new_tokens": max_new,
        "time_relative_to_headwise": ratios,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
    say(f"Kept in {options.json}")


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
