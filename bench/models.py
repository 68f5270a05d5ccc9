"""How fast published models run in our own layers, against the reference library, as ratios.

    python bench/models.py [--quick]

Both hold the same published weights and run interleaved in one process on one thread; what they
give has to agree. Sentences go to the reference library in the same batches, sorted by length and
padded, through its own fast tokeniser. What is claimed are ratios of medians from one run, in the
processor's time, which others on the machine do not change: absolute times belong to the machine.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable

import torch
import transformers
from torch import Tensor

from headwise.models import minilm, weights

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


def ratio(name: str, ours: Callable[[], Tensor], theirs: Callable[[], Tensor], rounds: int) -> None:
    """Print how long ours takes, where theirs takes 1."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    contenders = {"ours": ours, "theirs": theirs}
    given: dict[str, Tensor] = {}
    for repetition in range(-1, rounds):  # the first round warms up
        for who in sorted(contenders, reverse=bool(repetition % 2)):
            start = time.process_time()
            given[who] = contenders[who]()
            if repetition >= 0:
                times[who].append(time.process_time() - start)
    assert (given["ours"] - given["theirs"]).abs().max() < 1e-5
    medians = {who: statistics.median(spent) for who, spent in times.items()}
    print(f"{name}: {medians['ours'] / medians['theirs']:.2f} of the reference library's time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sentences")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    weights.find("minilm")
    one = ["the cat sat on the mat"]
    rounds = 3 if quick else 7
    ratio(
        "MiniLM, load and embed one sentence",
        lambda: minilm.load().embed(one),
        lambda: Reference().embed(one),
        rounds,
    )
    ours, theirs, many = minilm.load(), Reference(), mixed(100 if quick else 1000)
    ratio("MiniLM, one sentence", lambda: ours.embed(one), lambda: theirs.embed(one), 5 * rounds)
    ratio(
        f"MiniLM, {len(many)} sentences of mixed length",
        lambda: ours.embed(many, BATCH),
        lambda: theirs.embed(many),
        rounds if quick else 3,
    )


if __name__ == "__main__":
    main()
