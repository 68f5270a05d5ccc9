"""SmolLM2, a published language model of 135 million weights, in the modules of this library.

The model writes on from a prompt, token by token. Its weights come in one GGUF file, which also
says how large everything is and holds the vocabulary.

    python -m headwise.models fetch smollm2
    python -m headwise.models.smollm2 "The capital of France is"
    python -m headwise.models.smollm2 --look "The capital of France is"
"""

import codecs
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from headwise._check import ROWS, check_kind, check_whole, show
from headwise._check import kind as about
from headwise._command import Parser
from headwise._eval_mode import without_dropout
from headwise.block import Block
from headwise.choosing import GREEDY, Choice
from headwise.decoder_only import DecoderOnly
from headwise.models import published_names, weights
from headwise.models._files import wrong_file
from headwise.models.byte_tokens import ByteTokens
from headwise.models.gguf import GGUF

T = TypeVar("T", int, float, str, list[Any])
ORDINARY = 1  # among the types of tokens in GGUF; all others are special
# What a header may say of the model. Anything else changes what is computed, in a way that
# DecoderOnly may not have.
SAID = {
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
    "rope.dimension_count",
    "vocab_size",
}


class SmolLM2(NamedTuple):
    """The model and its tokens; eos ends a text, context is the longest it was made for."""

    model: DecoderOnly
    tokens: ByteTokens
    eos: int
    context: int


def load(folder: str | Path | None = None) -> SmolLM2:
    """SmolLM2 as it was fetched, or from the one GGUF file of another folder."""
    place = weights.find("smollm2", folder)
    files = sorted(place.glob("*.gguf"))
    if len(files) != 1:
        raise ValueError(f"folder: got {place} with {len(files)} GGUF files, expected one")
    return read(files[0])


def read(path: str | Path) -> SmolLM2:
    """The model in a GGUF file, which has to be of the architecture called llama."""
    file = GGUF(path)
    architecture = _value(file, "general.architecture", str)
    if architecture != "llama":
        raise wrong_file(file.path, f"holds the architecture {architecture!r}", "'llama'")
    for key in file.metadata:
        if key.startswith("llama.") and key.removeprefix("llama.") not in SAID:
            raise wrong_file(file.path, f"has {key}", "nothing that a plain Llama does without")
    tokens = _tokens(file)
    model = _model(file, len(tokens.pieces))
    eos = _value(file, "tokenizer.ggml.eos_token_id", int)
    if not 0 <= eos < model.vocab:
        raise wrong_file(file.path, f"ends texts with token {eos}", f"one below {model.vocab}")
    return SmolLM2(model, tokens, eos, _size(file, "context_length"))


def _tokens(file: GGUF) -> ByteTokens:
    for key, known in (("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", "smollm")):
        value = _value(file, key, str)
        if value != known:
            raise wrong_file(file.path, f"has {key} = {value!r}", repr(known))
    kinds = _value(file, "tokenizer.ggml.token_type", list)
    special = [token for token, kind in enumerate(kinds) if kind != ORDINARY]
    words, merges = (_value(file, f"tokenizer.ggml.{key}", list) for key in ("tokens", "merges"))
    try:
        return ByteTokens(words, merges, special)
    except (TypeError, ValueError) as error:
        raise wrong_file(file.path, "has other tokens", f"byte-level ones: {error}") from error


def _model(file: GGUF, vocab: int) -> DecoderOnly:
    d_model, d_ff = _size(file, "embedding_length"), _size(file, "feed_forward_length")
    num_layers, num_heads = _size(file, "block_count"), _size(file, "attention.head_count")
    num_kv_heads = _size(file, "attention.head_count_kv")
    d_k, turned = d_model // num_heads, _size(file, "rope.dimension_count")
    if turned != d_k:
        raise wrong_file(file.path, f"turns {turned} columns of a head", f"all {d_k}")
    tied = "output.weight" not in file.places
    blocks = range(min(num_layers, len(file.places)))  # what is missing has its say below
    shapes = {
        "token_embd.weight": (vocab, d_model),
        "output_norm.weight": (d_model,),
        **({} if tied else {"output.weight": (vocab, d_model)}),
        **{f"blk.{i}.attn_norm.weight": (d_model,) for i in blocks},
        **{f"blk.{i}.attn_q.weight": (num_heads * d_k, d_model) for i in blocks},
        **{f"blk.{i}.attn_k.weight": (num_kv_heads * d_k, d_model) for i in blocks},
        **{f"blk.{i}.attn_v.weight": (num_kv_heads * d_k, d_model) for i in blocks},
        **{f"blk.{i}.attn_output.weight": (d_model, num_heads * d_k) for i in blocks},
        **{f"blk.{i}.ffn_norm.weight": (d_model,) for i in blocks},
        **{f"blk.{i}.ffn_gate.weight": (d_ff, d_model) for i in blocks},
        **{f"blk.{i}.ffn_up.weight": (d_ff, d_model) for i in blocks},
        **{f"blk.{i}.ffn_down.weight": (d_model, d_ff) for i in blocks},
    }
    for name in shapes | file.places:
        if name not in file.places:
            raise wrong_file(
                file.path, f"has no {name}", f"{num_layers} layers, as its header says"
            )
        if name not in shapes:
            raise wrong_file(
                file.path, f"has {name}", f"the weights of {num_layers} layers and no others"
            )
        if file.places[name].shape != shapes[name]:
            got = f"has {name} of shape {show(file.places[name].shape)}"
            raise wrong_file(file.path, got, f"{show(shapes[name])}, as its header says")
    try:
        with _Unfilled():
            model = DecoderOnly(
                *(vocab, d_model, num_heads, num_layers),
                num_kv_heads=num_kv_heads,
                d_ff=d_ff,
                eps=_value(file, "llama.attention.layer_norm_rms_epsilon", float),
                theta=_value(file, "llama.rope.freq_base", float),
                layout=published_names.LAYOUTS["GGUF"],
                tied=tied,
            )
    except ValueError as error:
        raise wrong_file(file.path, "has other sizes", f"those of a model: {error}") from error
    tensors = {name: file.tensor(name) for name in shapes}
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise wrong_file(file.path, f"has numbers in {name} that are not finite", "finite ones")
    tensors = {name: _by_columns(tensor) for name, tensor in tensors.items()}
    found = published_names.renamed(tensors, published_names.GGUF)
    found.setdefault("W_vocab.weight", found["embedding.weight"])
    model.load_state_dict(found, assign=True)
    if tied:
        model.W_vocab.weight = model.embedding.weight
    return model.eval().requires_grad_(False)


def _by_columns(weight: Tensor) -> Tensor:
    """The same matrix, in memory column by column.

    Who writes multiplies each matrix by one vector at a time, and that is a matter of how fast the
    matrix is read: some processors read it faster by a third so.
    """
    return weight.t().contiguous().t()


def _value(file: GGUF, key: str, kind: type[T]) -> T:
    """What the header says under this key, which is of this kind."""
    value = file.metadata.get(key)
    if type(value) is not kind:
        got = f"has no {key}" if value is None else f"has {key} = {about(value)}"
        raise wrong_file(file.path, got, f"one of type {kind.__name__}")
    return value


def _size(file: GGUF, key: str) -> int:
    size = _value(file, f"llama.{key}", int)
    if not 1 <= size <= ROWS:
        raise wrong_file(file.path, f"has llama.{key} = {size}", f"at least 1 and at most {ROWS:,}")
    return size


class _Unfilled(TorchFunctionMode):
    """Modules are made without first drawing weights, which would take longer than reading them."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call the function, unless it is there to fill a tensor."""
        if getattr(function, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def write(
    loaded: SmolLM2,
    prompt: str,
    max_new: int,
    *,
    choice: Choice = GREEDY,
    generator: torch.Generator | None = None,
) -> Iterator[str]:
    """What the model writes after the prompt, piece by piece, until it ends the text itself.

    A piece is what a token adds, but for characters that take several: they come when whole.

    Args:
        loaded: from `load`.
        prompt: the text to write on from.
        max_new: the most tokens to write.
        choice: how to choose; by default, greedily.
        generator: where chance comes from.
    """
    tokens = _prompt(loaded, prompt)
    check_whole("max_new", max_new, 0, ROWS)
    if len(tokens) + max_new > loaded.context:
        raise ValueError(
            f"prompt: got {len(tokens)} tokens, expected at most "
            f"{loaded.context - max_new}, as max_new = {max_new} and context = {loaded.context}"
        )
    new = loaded.model.stream(tokens, max_new, choice=choice, eos=loaded.eos, generator=generator)
    return _texts(loaded, new)


def _texts(loaded: SmolLM2, new: Iterator[int]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in new:
        if token != loaded.eos and (text := decoder.decode(loaded.tokens.decode([token]))):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _prompt(loaded: SmolLM2, prompt: str) -> list[int]:
    check_kind("loaded", loaded, SmolLM2)
    check_kind("prompt", prompt, str)
    tokens = loaded.tokens.encode(prompt)
    if not tokens:
        raise ValueError(f"prompt: got {prompt!r}, expected at least one token of text")
    return tokens


@torch.inference_mode()
def look(loaded: SmolLM2, prompt: str) -> Tensor:
    """All weights while the prompt is read, (num_layers, num_heads, seq_len, seq_len)."""
    tokens = torch.tensor([_prompt(loaded, prompt)])  # (1, seq_len)
    model = without_dropout(loaded.model)
    x = model.embedding(tokens)  # (1, seq_len, d_model)
    found = []
    for module in model.blocks:
        block = cast(Block, module)
        found.append(block.attention(block.norm_1(x), is_causal=True, need_weights=True)[1])
        x = block(x)
    return torch.cat(found)  # (num_layers, num_heads, seq_len, seq_len)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if all went well, 2 with one line of why if the input was wrong."""
    parser = Parser(
        prog="python -m headwise.models.smollm2",
        description="SmolLM2 writes on from a prompt.",
    )
    parser.add_argument("prompt", help="the text to write on from")
    parser.add_argument("--look", action="store_true", help="show where the last token looks")
    parser.add_argument("--length", type=int, default=40, help="the most tokens to write: 40")
    parser.add_argument("--temperature", type=float, help="0, or 1 if there are other settings")
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--top-p", type=float)
    parser.add_argument("--min-p", type=float)
    parser.add_argument("--repetition-penalty", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="a folder with the GGUF file")
    options = parser.read(arguments)
    try:
        named = {
            name: value
            for name in ("temperature", "top_k", "top_p", "min_p")
            if (value := getattr(options, name)) is not None
        }
        choice = Choice(
            **(named or {"temperature": 0.0}), repetition_penalty=options.repetition_penalty
        )
        check_whole("seed", options.seed, 0, 2**63 - 1)
        if not options.prompt.strip():
            raise ValueError("prompt: got no words, expected some")
        loaded = load(options.folder)
        if options.look:
            _show(loaded, options.prompt)
            return 0
        generator = torch.Generator().manual_seed(options.seed)
        pieces = write(loaded, options.prompt, options.length, choice=choice, generator=generator)
        print(options.prompt, end="", flush=True)
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
    except (ValueError, OSError) as error:
        line = " ".join(str(error).splitlines())  # a path may break one
        print(f"headwise.models.smollm2: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _show(loaded: SmolLM2, prompt: str) -> None:
    """Where the prompt's last token looks: the mean of all heads, and the head that looks most."""
    found = look(loaded, prompt)[:, :, -1]  # (num_layers, num_heads, seq_len)
    num_layers, num_heads, _ = found.shape
    names = [
        repr(loaded.tokens.decode([token]).decode("utf-8", "replace"))
        for token in loaded.tokens.encode(prompt)
    ]
    width = max(map(len, names))
    print(
        f"Where {names[-1]} looks, by the mean of {num_layers * num_heads} heads, and which most:"
    )
    for j, name in enumerate(names):
        layer, head = divmod(int(found[:, :, j].argmax()), num_heads)
        most = found[layer, head, j]
        mean = found[:, :, j].mean()
        print(f"{name:{width}}  {mean:.2f}  layer {layer}, head {head}: {most:.2f}")


if __name__ == "__main__":
    sys.exit(main())
