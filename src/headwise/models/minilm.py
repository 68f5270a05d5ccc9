"""all-MiniLM-L6-v2, a published encoder of sentences, out of the library's own layers.

    python -m headwise.models fetch minilm
    python -m headwise.models.minilm "the cat sat on the mat"
    python -m headwise.models.minilm similar "a cat sat" "a dog sat" "the price of tea"

It is BERT in shape: 6 post-LN layers of 12 heads, 384 wide, with learned positions. Any encoder
that is published in this layout (config.json, vocab.txt, model.safetensors) can be loaded.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise._check import (
    ROWS,
    check_each,
    check_flags,
    check_kind,
    check_positive,
    check_sizes,
    check_whole,
    show,
)
from headwise._check_tensors import (
    check_device,
    check_floats,
    check_input,
    check_mask,
    check_readable,
    check_shape,
    check_tokens,
)
from headwise._command import Parser
from headwise.layers import EncoderLayer
from headwise.masks import combine
from headwise.models import weights as published
from headwise.models.published_names import BERT, renamed
from headwise.models.wordpiece import PAD, WordPiece
from headwise.positional import LearnedPositions

# Parts of BERT that no sentence needs: a layer over [CLS], and a table of 0, 1, 2, …
LEFT_OUT = ("pooler.", "embeddings.position_ids")


class Seen(NamedTuple):
    """What all layers make of some tokens.

    states: (batch, seq_len, d_model), first the embeddings, then what each layer gives.
    weights: (batch, num_heads, seq_len, seq_len), of each layer.
    """

    states: list[Tensor]
    weights: list[Tensor]


class MiniLM(nn.Module):
    """An encoder in the shape of BERT: embeddings, a norm, and a stack of encoder layers.

    Args:
        tokenizer: cuts sentences into tokens.
        d_model: width of the model.
        num_heads: heads in every layer; it divides d_model.
        num_layers: how many layers.
        d_ff: width inside the feed-forward networks.
        max_len: the longest sequence there can be; the positions are learned.
        eps: what the norms add to the variance.
        segments: kinds of sentence that have a vector of their own; all are of the first here.
    """

    def __init__(
        self,
        tokenizer: WordPiece,
        *,
        d_model: int = 384,
        num_heads: int = 12,
        num_layers: int = 6,
        d_ff: int = 1536,
        max_len: int = 512,
        eps: float = 1e-12,
        segments: int = 2,
    ) -> None:
        super().__init__()
        check_kind("tokenizer", tokenizer, WordPiece)
        check_sizes(num_layers=num_layers, most=1000)
        check_sizes(max_len=max_len, segments=segments, most=ROWS)
        check_positive(eps=eps)
        self.tokenizer, self.max_len, self.num_heads = tokenizer, int(max_len), num_heads
        self.pad, self.vocab = tokenizer.vocabulary.index(PAD), len(tokenizer.vocabulary)
        layers = [
            EncoderLayer(d_model, num_heads, d_ff, dropout=0.0, activation="gelu", eps=eps)
            for _ in range(num_layers)
        ]
        self.embedding = nn.Embedding(self.vocab, d_model)
        self.positions = LearnedPositions(max_len, d_model)
        self.segments = nn.Embedding(segments, d_model)
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.layers = nn.ModuleList(layers)

    def encode(self, sentences: Sequence[str]) -> Tensor:
        """Tokens (batch, seq_len) of the sentences, the short ones filled up with [PAD]."""
        rows = self._tokens(sentences)
        longest = max(map(len, rows))
        return torch.tensor([row + [self.pad] * (longest - len(row)) for row in rows])

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | Seen:
        """The last hidden states (batch, seq_len, d_model); when asked, all states and weights.

        Args:
            tokens: (batch, seq_len); no query sees a [PAD].
            mask: what else is hidden: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, seq_len).
            need_weights: return the states and the weights of all layers.
        """
        check_tokens("tokens", tokens, ("batch", "seq_len"), self.vocab)
        check_flags(need_weights=need_weights)
        check_device("tokens", tokens, "the weights", self.embedding.weight)
        if mask is not None:
            length = tokens.size(1)
            check_mask(mask, (len(tokens), self.num_heads, length, length), self.embedding.weight)
        real = (tokens != self.pad)[:, None, None]  # (batch, 1, 1, seq_len)
        mask = combine(mask, real)

        x = self.embedding(tokens) + self.segments.weight[0]  # (batch, seq_len, d_model)
        x = self.norm(self.positions(x))
        states, weights = [x], []
        for layer in self.layers:
            x = layer(x, mask, need_weights=need_weights)
            if need_weights:
                x, seen = x
                weights.append(seen)
                states.append(x)
        return Seen(states, weights) if need_weights else x

    @torch.no_grad()
    def embed(self, sentences: Sequence[str], batch_size: int = 32) -> Tensor:
        """One vector of length 1 for each sentence: (batch, d_model).

        Sentences of like length go through the model together, so that little is padded.
        """
        check_whole("batch_size", batch_size, 1, ROWS)
        rows = self._tokens(sentences)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        out = self.embedding.weight.new_empty(len(rows), self.embedding.embedding_dim)
        for start in range(0, len(rows), batch_size):
            batch = order[start : start + batch_size]
            longest = len(rows[batch[-1]])
            filled = [rows[i] + [self.pad] * (longest - len(rows[i])) for i in batch]
            tokens = torch.tensor(filled, device=out.device)  # (..., longest)
            out[batch] = self.pool(self(tokens), tokens)
        return out

    def pool(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The mean over all that is not [PAD], scaled to length 1: (batch, d_model)."""
        check_tokens("tokens", tokens, ("batch", "seq_len"), self.vocab)
        check_device("tokens", tokens, "the weights", self.embedding.weight)
        check_input("states", states, (*tokens.shape, self.embedding.embedding_dim), self.embedding)
        real = (tokens != self.pad)[..., None].to(states.dtype)  # (batch, seq_len, 1)
        mean = (states * real).sum(dim=1) / real.sum(dim=1)  # (batch, d_model)
        return F.normalize(mean, dim=-1)

    def _tokens(self, sentences: Sequence[str]) -> list[list[int]]:
        check_each("sentences", sentences, str, expected="a list of sentences")
        if not sentences:
            raise ValueError("sentences: got none, expected at least one")
        rows = [self.tokenizer.encode(sentence, self.max_len) for sentence in sentences]
        for row, sentence in zip(rows, sentences, strict=True):
            if len(row) == 2:  # [CLS] and [SEP]
                raise ValueError(f"sentences: got {sentence!r} in them, expected words")
        return rows


def load(folder: str | Path | None = None) -> MiniLM:
    """The model with its published weights: those that were fetched, or those in a folder."""
    safetensors = _library()
    fetched = folder is None  # and so known to the last bit
    folder = published.find("minilm", _without_pickle(folder))
    config = _config(folder / "config.json")
    tokenizer = _tokenizer(folder / "vocab.txt", config["vocab_size"])
    try:
        with torch.device("meta"):  # shapes alone: the weights are read, not drawn
            model = MiniLM(
                tokenizer,
                d_model=config["hidden_size"],
                num_heads=config["num_attention_heads"],
                num_layers=config["num_hidden_layers"],
                d_ff=config["intermediate_size"],
                max_len=config["max_position_embeddings"],
                eps=config["layer_norm_eps"],
                segments=config["type_vocab_size"],
            )
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder / 'config.json'}: {error}") from error
    path = folder / "model.safetensors"
    try:
        state = safetensors.load_file(path)
    except Exception as error:  # the library's own, and of none that it names
        raise ValueError(
            f"{path}: {error}, expected whole weights as safetensors writes them"
        ) from error
    _fill(model, state, path)
    if not fetched:
        _check_finite(model, path)
    return model.eval()


def _library() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise ImportError(
            "safetensors is not installed, and reads the weights; pip install safetensors brings it"
        ) from error
    return safetensors.torch


def _without_pickle(folder: str | Path | None) -> str | Path | None:
    """The folder; one in which the weights are a pickle alone is refused."""
    if isinstance(folder, str | Path) and "\0" not in str(folder):
        path = Path(folder, "model.safetensors")
        pickle = Path(folder, "pytorch_model.bin")
        if pickle.is_file() and not path.is_file():
            raise ValueError(
                f"{pickle}: is a pickle, which runs code when it is loaded, expected {path.name}"
            )
    return folder


def _config(path: Path) -> dict[str, Any]:
    """The settings of a model that is built as ours is."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise ValueError(f"{path}: {error}, expected the settings of a model") from error
    expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    sizes = (
        *("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers"),
        *("intermediate_size", "max_position_embeddings", "layer_norm_eps", "type_vocab_size"),
    )
    if not isinstance(config, dict):
        raise ValueError(f"{path}: got {type(config).__name__}, expected the settings of a model")
    for name in sizes:
        if name not in config:
            raise ValueError(f"{path}: has no {name}, expected one, as BERT's have")
    for name, value in expected.items():
        if config.get(name, value) != value:
            raise ValueError(f"{path}: got {name} = {config[name]!r}, expected {value!r}")
    return config


def _tokenizer(path: Path, vocab: int) -> WordPiece:
    try:
        pieces = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if len(pieces) != vocab:
            raise ValueError(f"got {len(pieces)} pieces, expected {vocab}, as in config.json")
        return WordPiece(pieces)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _fill(model: MiniLM, state: dict[str, Tensor], path: Path) -> None:
    """Give the model its weights, each under our name for it, all of them and no other."""
    wanted = model.state_dict()
    tensors = {name.removeprefix("bert."): weight.float() for name, weight in state.items()}
    tensors = {name: x for name, x in tensors.items() if not name.startswith(LEFT_OUT)}
    try:
        ours = renamed(tensors, BERT)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    for name in sorted(wanted.keys() ^ ours.keys()):
        got = "no" if name in wanted else "a"
        raise ValueError(f"{path}: has {got} weight {name!r}, expected those of config.json")
    for name, weight in ours.items():
        if weight.shape != wanted[name].shape:
            raise ValueError(
                f"{path}: got {show(weight.shape)} for {name}, expected {show(wanted[name].shape)}"
            )
    model.load_state_dict(ours, assign=True)


def _check_finite(model: MiniLM, path: Path) -> None:
    """No number of the weights is NaN or infinite."""
    for name, weight in model.state_dict().items():
        if not weight.isfinite().all():
            raise ValueError(f"{path}: got numbers in {name} that are not finite, expected finite")


# The command line


def table(pieces: Sequence[str], weights: Tensor) -> str:
    """Weights (seq_len, seq_len) as text: a row a query, a column a key."""
    check_each("pieces", pieces, str, expected="a list of pieces")
    check_shape("weights", weights, (len(pieces), len(pieces)))
    check_readable("weights", weights)
    check_floats("weights", weights)
    width = max(6, *map(len, pieces)) + 1
    lines = [" " * width + "".join(f"{piece:>{width}}" for piece in pieces)]
    for piece, row in zip(pieces, weights.tolist(), strict=True):
        lines.append(f"{piece:>{width}}" + "".join(f"{weight:{width}.2f}" for weight in row))
    return "\n".join(lines)


@torch.no_grad()
def _show(model: MiniLM, sentence: str) -> None:
    """Print who looks at whom: all heads together, then the head that looks hardest."""
    tokens = model.encode([sentence])
    pieces = model.tokenizer.decode(tokens[0].tolist())
    seen = torch.stack(model(tokens, need_weights=True).weights)[:, 0]  # (layers, heads, …, …)
    num_layers, num_heads = seen.shape[:2]
    print(f"a row looks at a column; the mean of all {num_layers * num_heads} heads")
    print(table(pieces, seen.mean(dim=(0, 1))))
    print("\neach word, and the head that looks hardest at another word")
    words = range(1, len(pieces) - 1)
    for query in words if len(words) > 1 else ():
        keys = [key for key in words if key != query]
        hardest = int(seen[:, :, query, keys].argmax())
        head, key = divmod(hardest, len(keys))
        layer, head = divmod(head, num_heads)
        weight = seen[layer, head, query, keys[key]].item()
        print(f"{pieces[query]} → {pieces[keys[key]]} {weight:.2f} (L{layer + 1} H{head + 1})")


def _compare(model: MiniLM, sentences: Sequence[str]) -> None:
    """Print how alike each two sentences are, the cosine of their angle."""
    vectors = model.embed(sentences)
    alike = (vectors @ vectors.T).tolist()
    for i, one in enumerate(sentences):
        for j in range(i):
            print(f"{alike[i][j]:5.2f}  {sentences[j]} | {one}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if all went well, 2 with one line of why if something did not."""
    parser = Parser(
        prog="python -m headwise.models.minilm",
        description="Who looks at whom in a sentence; with `similar`, how alike sentences are.",
    )
    parser.add_argument("sentence", nargs="+", help="similar A B C compares A, B and C")
    parser.add_argument("--folder", help="a folder with config.json, vocab.txt, model.safetensors")
    options = parser.read(arguments)
    try:
        first, *others = options.sentence
        model = load(options.folder)
        if first == "similar" and others:
            _compare(model, others)
        else:
            for sentence in options.sentence:
                _show(model, sentence)
    except (OSError, ValueError, ImportError) as error:
        print(f"headwise.models.minilm: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
