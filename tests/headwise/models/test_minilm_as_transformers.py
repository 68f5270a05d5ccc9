"""Hidden states of all layers and weights of all heads equal those of the library `transformers`.

The library is imported by the one fixture here, because that takes seconds.
"""

import random
from types import ModuleType

import pytest
import torch
from torch import Tensor

from headwise.models import minilm, weights
from headwise.models.minilm import MiniLM

WORDS = "the a cat dog bank river money sat slept on near of and , . ! 猫 café 42 unaffable"


def sentences(longest: int) -> list[str]:
    """50 sentences, from one word to the longest."""
    source = random.Random(0)
    lengths = [1, 2, longest, *(source.randrange(1, 25) for _ in range(47))]
    return [" ".join(source.choices(WORDS.split(), k=length)) for length in lengths]


@pytest.fixture(scope="module")
def library() -> ModuleType:
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


@pytest.fixture(scope="module")
def models(library: ModuleType) -> tuple[MiniLM, torch.nn.Module]:
    theirs = library.BertModel.from_pretrained(
        weights.find("minilm"), attn_implementation="eager", local_files_only=True
    )
    return minilm.load(), theirs.eval()


def batches(model: MiniLM, longest: int) -> list[Tensor]:
    """The sentences in batches of seven in which most rows are padded, and the longest alone."""
    *short, last = sorted(sentences(longest), key=len)
    random.Random(1).shuffle(short)
    cut = [short[i : i + 7] for i in range(0, len(short), 7)]
    return [model.encode(batch) for batch in [*cut, [last]]]


@torch.no_grad()
@pytest.mark.parametrize(
    ("dtype", "tolerance", "longest"),
    [(torch.float32, 1e-5, 600), (torch.float64, 1e-10, 130)],  # the model reads up to 512 tokens
    ids=["float32", "float64"],
)
def test_states_and_weights_are_those_of_the_library(
    models: tuple[MiniLM, torch.nn.Module], dtype: torch.dtype, tolerance: float, longest: int
) -> None:
    ours, theirs = (model.to(dtype) for model in models)
    rows = 0
    for tokens in batches(ours, longest):
        real = tokens != 0
        expected = theirs(tokens, real.long(), output_hidden_states=True, output_attentions=True)
        seen = ours(tokens, need_weights=True)
        assert len(seen.states) == len(expected.hidden_states) == 7
        assert len(seen.weights) == len(expected.attentions) == 6
        for got, wanted in zip(seen.states, expected.hidden_states, strict=True):
            assert (got - wanted)[real].abs().max() < tolerance
        for got, wanted in zip(seen.weights, expected.attentions, strict=True):
            of_words = (got - wanted).transpose(1, 2)[real]  # (..., num_heads, seq_len)
            assert of_words.abs().max() < tolerance
        rows += len(tokens)
    assert rows == 50
