"""How fast SmolLM2 writes, against transformers with the same weights, as a ratio.

    python bench/smollm2.py [--quick] [--json PATH]

Both write 64 tokens greedily from the same prompt, in float32, with their caches, in one process
on one thread, and have to write the same text. The weights are those that
`python -m headwise.models fetch smollm2` brings.
"""

import time
from collections.abc import Callable

import torch
import transformers
from transformers.initialization import no_init_weights

from headwise.models import published_names, smollm2
from headwise.rotary import pairs_to_halves
from turns import keep, ratio, read_options, table, take_turns

PROMPT = "The lighthouse keeper climbed the stairs every evening, because"


def contenders(max_new: int) -> dict[str, Callable[[], list[int]]]:
    """Ours, and theirs with our weights."""
    loaded = smollm2.load()
    model, state = loaded.model, {}
    attention = model.blocks[0].attention
    for name in published_names.LLAMA:
        for i in range(len(model.blocks) if "{i}" in name.theirs else 1):
            weight = model.state_dict()[name.ours[0].replace("{i}", str(i))]
            if name.theirs.endswith(("q_proj.weight", "k_proj.weight")):
                weight = pairs_to_halves(weight, weight.size(0) // attention.d_k)
            state[name.theirs.replace("{i}", str(i))] = weight.contiguous()  # as it would load it
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
    options = read_options(__doc__, "smollm2")
    torch.set_num_threads(1)
    max_new, repetitions = (16, 1) if options.quick else (64, 7)
    writers = contenders(max_new)
    texts = [write() for write in writers.values()]
    assert all(text == texts[0] for text in texts), "not all write the same text"
    assert len(texts[0]) == max_new
    times = take_turns(writers, repetitions, "writing", time.process_time)
    ratios = {name: ratio(times, name, "headwise") for name in list(writers)[1:]}
    print(f"\nTime to write {max_new} tokens with SmolLM2, relative to headwise:\n")
    print(table([*ratios], [[f"{each:.2f}" for each in ratios.values()]]))
    keep(options, repetitions, new_tokens=max_new, time_relative_to_headwise=ratios)


if __name__ == "__main__":
    main()
