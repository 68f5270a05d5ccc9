"""How fast a decoder-only model writes, against the generation of other libraries, as ratios.

    python bench/generation.py [--quick] [--json PATH]

All contenders are models of one size, run interleaved in one process on one thread, and write the
same number of tokens greedily, with their caches. Those of transformers hold our weights and have
to write our tokens. What is claimed are ratios of medians from one run: absolute times belong to
the machine. Peers that are not installed are named and left out.
"""

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from headwise.decoder_only import DecoderOnly
from headwise.models import published_names
from turns import keep, ratio, read_options, say, table, take_turns

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
        weights = ours.state_dict()
        theirs.load_state_dict(
            {
                name.theirs.replace("{i}", str(i)): weights[name.ours[0].replace("{i}", str(i))]
                for name in published_names.LLAMA
                for i in range(NUM_LAYERS if "{i}" in name.theirs else 1)
            }
        )
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
    steps = {name: partial(contenders[name], prompts, max_new) for name in names}
    for name, step in steps.items():
        lengths_written = [len(text) for text in step()]
        assert lengths_written == [max_new] * len(lengths), f"{name} wrote {lengths_written}"
    times = take_turns(steps, repetitions, f"prompts of {lengths}", time.process_time)
    return {name: ratio(times, name, OURS) for name in names}


def same_texts(contenders: dict[str, Write]) -> bool | None:
    """Whether transformers writes what we write, where it holds our weights."""
    if REFERENCE not in contenders:
        return None
    prompts = prompts_of([9, 4])
    return contenders[OURS](prompts, 20) == contenders[REFERENCE](prompts, 20)


def main() -> None:
    """Measure, print Markdown, keep JSON."""
    options = read_options(__doc__, "generation")
    torch.set_num_threads(1)  # steps are so small that threads would mostly wait for each other
    max_new, repetitions = (16, 1) if options.quick else (128, 7)
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
    rows = [
        [name, *(f"{row[peer]:.2f}" if peer in row else "–" for peer in peers)]
        for name, row in ratios.items()
    ]
    print(table(["", *peers], rows))
    keep(
        options,
        repetitions,
        new_tokens=max_new,
        same_texts_as_transformers=same,
        time_relative_to_headwise=ratios,
    )


if __name__ == "__main__":
    main()
