"""How fast a decoder-only model writes, against the generation of other libraries, as ratios.

    python bench/generation.py [--quick] [--json PATH]

All contenders are models of one size, run interleaved in one process on one thread, and write the
same number of tokens greedily, with their caches. Those of transformers hold our weights and have
to write our tokens. What is claimed are ratios of medians from one run: absolute times belong to
the machine. Peers that are not installed are named and left out.
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
from torch import nn

from headwise.decoder_only import DecoderOnly

VOCAB, D_MODEL, NUM_HEADS, NUM_KV_HEADS, NUM_LAYERS, D_FF = 1000, 256, 8, 2, 4, 704
OURS, REFERENCE, PEER = "headwise", "transformers", "x-transformers"
Texts = list[list[int]]
Write = Callable[[Texts, int], Texts]


def llama_contenders() -> dict[str, Write]:
    """Models shaped like Llama."""
    torch.manual_seed(0)
    ours = DecoderOnly.llama_like(
        *(VOCAB, D_MODEL, NUM_HEADS, NUM_LAYERS), num_kv_heads=NUM_KV_HEADS, d_ff=D_FF
    )
    for parameter in ours.parameters():  # larger, so that the texts do not repeat one token
        if parameter.dim() == 2:
            nn.init.normal_(parameter, std=0.1)
    found: dict[str, Write] = {OURS: ours.eval().generate}
    try:
        import transformers

        config = transformers.LlamaConfig(
            vocab_size=VOCAB,
            hidden_size=D_MODEL,
            intermediate_size=D_FF,
            num_hidden_layers=NUM_LAYERS,
            num_attention_heads=NUM_HEADS,
            num_key_value_heads=NUM_KV_HEADS,
            rms_norm_eps=1e-5,
            bos_token_id=None,
            eos_token_id=None,
        )
        theirs = transformers.LlamaForCausalLM(config).eval()
        names = (
            *(("embedding.", "model.embed_tokens."), ("blocks.", "model.layers.")),
            *(("feed_forward.W_gate.", "mlp.gate_proj."), ("feed_forward.W_1.", "mlp.up_proj.")),
            *(("feed_forward.W_2.", "mlp.down_proj."), ("norm_1.", "input_layernorm.")),
            *(("norm_2.", "post_attention_layernorm."), ("W_vocab.", "lm_head.")),
            *((f"attention.W_{letter}.", f"self_attn.{letter}_proj.") for letter in "qkvo"),
        )
        weights = {}
        for name, weight in ours.state_dict().items():
            name = f"model.{name}" if name.startswith("norm.") else name
            for here, there in names:
                name = name.replace(here, there)
            weights[name] = weight
        theirs.load_state_dict(weights)
        found[REFERENCE] = as_transformers(theirs)
    except ImportError:
        say("  transformers is not installed and left out: pip install transformers")
    try:
        found[PEER] = x_transformers(rotary_pos_emb=True, use_rmsnorm=True, ff_swish=True)
    except ImportError:
        say("  x-transformers is not installed and left out: pip install x-transformers")
    return found


def gpt2_contenders() -> dict[str, Write]:
    """Models shaped like GPT-2."""
    torch.manual_seed(0)
    ours = DecoderOnly.gpt2_like(VOCAB, D_MODEL, NUM_HEADS, NUM_LAYERS, max_len=2048).eval()
    found: dict[str, Write] = {OURS: ours.generate}
    try:
        import transformers

        config = transformers.GPT2Config(
            vocab_size=VOCAB,
            n_positions=2048,
            n_embd=D_MODEL,
            n_layer=NUM_LAYERS,
            n_head=NUM_HEADS,
            bos_token_id=None,
            eos_token_id=None,
        )
        found[REFERENCE] = as_transformers(transformers.GPT2LMHeadModel(config).eval())
    except ImportError:
        say("  transformers is not installed and left out: pip install transformers")
    return found


def as_transformers(model: nn.Module) -> Write:
    """Greedy generation by transformers, with shorter prompts filled up at the left."""

    def write(prompts: Texts, max_new: int) -> Texts:
        longest = max(map(len, prompts))
        filled = [[0] * (longest - len(prompt)) + prompt for prompt in prompts]
        seen = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        texts = model.generate(  # type: ignore[operator]
            torch.tensor(filled),
            attention_mask=torch.tensor(seen),
            do_sample=False,
            max_new_tokens=max_new,
            pad_token_id=0,
        )
        return texts[:, longest:].tolist()

    return write


def x_transformers(**options: bool) -> Write:
    """Greedy generation by x-transformers."""
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(
        dim=D_MODEL,
        depth=NUM_LAYERS,
        heads=NUM_HEADS,
        attn_dim_head=D_MODEL // NUM_HEADS,
        attn_kv_heads=NUM_KV_HEADS,
        attn_flash=True,
        ff_glu=True,
        ff_no_bias=True,
        ff_mult=D_FF / D_MODEL,
        **options,
    )
    net = TransformerWrapper(
        num_tokens=VOCAB, max_seq_len=2048, use_abs_pos_emb=False, attn_layers=layers
    )
    wrapper = AutoregressiveWrapper(net).eval()

    def write(prompts: Texts, max_new: int) -> Texts:
        with torch.no_grad():
            texts = wrapper.generate(torch.tensor(prompts), max_new, temperature=0.0, cache_kv=True)
        return texts.tolist()

    return write


def prompts_of(lengths: list[int]) -> Texts:
    source = torch.Generator().manual_seed(0)
    return [torch.randint(0, VOCAB, (length,), generator=source).tolist() for length in lengths]


def measure(
    contenders: dict[str, Write], lengths: list[int], max_new: int, repetitions: int
) -> dict[str, float]:
    """How long each takes beside us, as the median over rounds."""
    prompts, names = prompts_of(lengths), list(contenders)
    if len(set(lengths)) > 1 and PEER in names:
        names.remove(PEER)  # it takes prompts of unequal length in another way
    times: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(-1, repetitions):  # the first round warms up
        turn = repetition % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.perf_counter()
            texts = contenders[name](prompts, max_new)
            spent = time.perf_counter() - start
            assert len(texts) == len(lengths) and all(len(text) == max_new for text in texts)
            if repetition >= 0:
                times[name].append(spent)
        say(f"  prompts of {lengths}: round {repetition + 1} of {repetitions}", end="\r")
    say("")
    return {
        name: statistics.median(a / b for a, b in zip(times[name], times[OURS], strict=True))
        for name in names
    }


def same_texts(contenders: dict[str, Write]) -> bool | None:
    """Whether transformers writes what we write, where it holds our weights."""
    if REFERENCE not in contenders:
        return None
    prompts = prompts_of([9, 4])
    return contenders[OURS](prompts, 20) == contenders[REFERENCE](prompts, 20)


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print Markdown, keep JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, for a first look")
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "generation.json"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)  # steps are so small that threads would mostly wait for each other
    max_new, repetitions = (16, 1) if options.quick else (128, 7)
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"The machine is busy (load {load:.1f}): close contenders will not be told apart")

    say(f"Greedy generation, width {D_MODEL}, {NUM_LAYERS} layers, {max_new} new tokens")
    llama, gpt2 = llama_contenders(), gpt2_contenders()
    same = same_texts(llama)
    assert same is not False, "transformers writes another text with the same weights"
    cases = {
        "Llama, 1 prompt of 32": (llama, [32]),
        "Llama, 8 prompts of 32": (llama, [32] * 8),
        "Llama, 1 prompt of 512": (llama, [512]),
        "Llama, 4 prompts of 24 to 48": (llama, [24, 32, 40, 48]),
        "GPT-2, 1 prompt of 32": (gpt2, [32]),
        "GPT-2, 8 prompts of 32": (gpt2, [32] * 8),
    }
    ratios = {
        name: measure(contenders, lengths, max_new, repetitions)
        for name, (contenders, lengths) in cases.items()
    }

    print(f"\nTime to write {max_new} tokens, relative to headwise:\n")
    peers = [name for name in (REFERENCE, PEER) if any(name in row for row in ratios.values())]
    print(f"| | {' | '.join(peers)} |\n|---|{'---|' * len(peers)}")
    for name, row in ratios.items():
        cells = (f"{row[peer]:.2f}" if peer in row else "–" for peer in peers)
        print(f"| {name} | {' | '.join(cells)} |")

    result = {
        "quick": options.quick,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "repetitions": repetitions,
        "load_at_start": load,
        "new_tokens": max_new,
        "same_texts_as_transformers": same,
        "time_relative_to_headwise": ratios,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
    say(f"Kept in {options.json}")


if __name__ == "__main__":
    main()
