"""How fast published models run in our own layers, against the reference library, as ratios.

    python bench/models.py [--quick] [--json PATH]

Both hold the same published weights and take turns in one process on one thread; what they give
has to agree. Sentences go to the reference library in the same batches, sorted by length and
padded, through its own fast tokeniser.
"""

import random
import time
from collections.abc import Callable

import torch
import transformers
from torch import Tensor

from headwise.models import minilm, weights
from turns import keep, ratio, read_options, table, take_turns

BATCH = 32


class Reference:
    """Sentence vectors by transformers: the same batches, pooling and scaling."""

    def __init__(self) -> None:
        folder = weights.cache() / "minilm"
        self.tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
        self.model = transformers.BertModel.from_pretrained(folder, local_files_only=True).eval()

    @torch.no_grad()
    def embed(self, sentences: list[str]) -> Tensor:
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        out = torch.empty(len(sentences), 384)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            read = self.tokenizer(
                [sentences[i] for i in batch],
                padding=True,
                truncation=True,
                max_length=512,
                return_tensors="pt",
            )
            states = self.model(**read).last_hidden_state
            real = read["attention_mask"][..., None].float()
            mean = (states * real).sum(dim=1) / real.sum(dim=1)
            out[batch] = torch.nn.functional.normalize(mean, dim=-1)
        return out


def mixed(count: int) -> list[str]:
    """Sentences of 3 to 60 words."""
    source = random.Random(0)
    pieces = minilm.load().tokenizer.vocabulary
    words = [word for word in pieces[2000:12000] if word.isalpha()]
    return [" ".join(source.choices(words, k=source.randrange(3, 61))) for _ in range(count)]


def compare(
    name: str, ours: Callable[[], Tensor], theirs: Callable[[], Tensor], repetitions: int
) -> float:
    """How long ours takes, where theirs takes 1."""
    assert (ours() - theirs()).abs().max() < 1e-5
    contenders = {"ours": ours, "theirs": theirs}
    return ratio(take_turns(contenders, repetitions, name, time.process_time), "ours", "theirs")


def main() -> None:
    """Measure, print Markdown, keep JSON."""
    options = read_options(__doc__, "models")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    one, repetitions = ["the cat sat on the mat"], 3 if options.quick else 7
    ours, theirs, many = minilm.load(), Reference(), mixed(100 if options.quick else 1000)
    cases: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor], int]] = {
        "load and embed one sentence": (
            lambda: minilm.load().embed(one),
            lambda: Reference().embed(one),
            repetitions,
        ),
        "one sentence": (lambda: ours.embed(one), lambda: theirs.embed(one), 5 * repetitions),
        f"{len(many)} sentences of mixed length": (
            lambda: ours.embed(many, BATCH),
            lambda: theirs.embed(many),
            3,
        ),
    }
    ratios = {name: compare(name, *case) for name, case in cases.items()}
    print("\nMiniLM, time relative to transformers:\n")
    print(table(["", "headwise"], [[name, f"{each:.2f}"] for name, each in ratios.items()]))
    keep(options, repetitions, time_relative_to_transformers=ratios)


if __name__ == "__main__":
    main()
