"""Drawn inputs, what the library makes of them, and a page that compares a graph with it.

All cases of all graphs go to the page as one file of numbers, beside a list of what lies where.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sitekit.graphs import FOLDER, Program

CASES = 100
LENGTHS = {"seq_len", "query", "key", "src_len", "tgt_len", "window"}

# Runs every case, and gives the largest error of each; or what went wrong.
PAGE = """<!doctype html><html lang="en"><title>graphs</title><script type="module">
import { load } from "./runtime.js"
import { Tensor, count } from "./tensor.js"

const { cases, words } = await (await fetch("cases.json")).json()
const memory = new Float64Array(await (await fetch("cases.bin")).arrayBuffer())
const ARRAYS = { float32: Float32Array, bool: Uint8Array, int64: Int32Array }
const read = one => memory.subarray(one.at, one.at + one.size)
const made = one => typeof one === "number" ? one
  : new Tensor(ARRAYS[one.dtype].from(read(one)), one.shape, one.dtype)

// The largest difference, of numbers beyond 1 as a share of the largest of them.
function error(ours, wanted) {
  if (`${ours.shape}` !== `${wanted.shape}`) return `shape ${ours.shape}, not ${wanted.shape}`
  if (ours.dtype !== wanted.dtype) return `${ours.dtype}, not ${wanted.dtype}`
  const a = ours.flat(), b = read(wanted)
  let most = 0, scale = 1
  for (const x of b) if (Number.isFinite(x)) scale = Math.max(scale, Math.abs(x))
  for (let i = 0; i < b.length; i++) {
    if (Object.is(a[i], b[i]) || a[i] === b[i]) continue
    const off = Math.abs(a[i] - b[i]) / scale
    most = Math.max(most, Number.isNaN(off) ? Infinity : off)
  }
  return most
}

const found = []
for (const { graph, inputs, outputs } of cases) {
  try {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, one]) => [name, made(one)]))
    const ran = (await load(graph)).run(given)
    const ours = ran.outputs.flat(Infinity)
    const errors = outputs.map((wanted, i) => error(ours[i], wanted))
    found.push(errors.find(one => typeof one === "string") ?? Math.max(...errors))
  } catch (problem) {
    found.push(String(problem))
  }
}

// How many words of the translator are not those that were wanted: where it gives 0, nothing was.
window.wrong = 0
const all = shape => new Tensor(new Uint8Array(count(shape)).fill(1), shape, "bool")
for (const batch of words) {
  const [src, tgt, wanted] = [batch.src, batch.tgt, batch.wanted].map(made)
  const shown = new Tensor(Uint8Array.from(src.flat(), token => token > 0), src.shape, "bool")
  const on = { shown, positions: all([1]), causal: all([1]) }
  for (const heads of ["heads", "own_heads", "source_heads"]) on[heads] = all([2, 4])
  const [memorised] = (await load("translator_encode")).run({ src, ...on }).outputs
  const [chances] = (await load("translator_decode")).run({ tgt, memory: memorised, ...on }).outputs
  const scores = chances.flat(), width = chances.shape[2]
  const likeliest = row => scores.subarray(row * width, (row + 1) * width)
    .reduce((best, x, i, all) => (x > all[best] ? i : best), 0)
  wanted.flat().forEach((word, row) => { if (word !== 0 && likeliest(row) !== word) wrong++ })
}
window.found = found
</script>"""


class Cases:
    """Cases for a page, as they are written into a folder."""

    def __init__(self) -> None:
        self.words: list[dict[str, Any]] = []
        self.cases: list[dict[str, Any]] = []
        self.numbers: list[np.ndarray] = []
        self.length = 0

    def add(self, graph: str, inputs: Mapping[str, Any], outputs: list[Tensor]) -> None:
        """One more case: what goes in, and what has to come out."""
        given = {name: self._written(x) for name, x in inputs.items()}
        wanted = [self._written(x) for x in outputs]
        self.cases.append({"graph": graph, "inputs": given, "outputs": wanted})

    def translate(self, src: Tensor, tgt: Tensor, wanted: Tensor) -> None:
        """Words that the translator has to find: wanted[b, t] after tgt[b, : t + 1]."""
        given = {"src": src, "tgt": tgt, "wanted": wanted}
        self.words.append({name: self._written(x) for name, x in given.items()})

    def _written(self, x: Tensor | int) -> Any:
        if not isinstance(x, Tensor):
            return x
        at, self.length = self.length, self.length + x.numel()
        self.numbers.append(x.detach().double().flatten().numpy())
        dtype = str(x.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": list(x.shape), "at": at, "size": x.numel()}

    def write(self, folder: Path) -> None:
        """The page, the runtime, the graphs and the cases."""
        for file in FOLDER.parent.glob("*.js"):
            (folder / file.name).write_bytes(file.read_bytes())
        (folder / "graphs").mkdir()
        for file in FOLDER.iterdir():
            (folder / "graphs" / file.name).write_bytes(file.read_bytes())
        text = json.dumps({"cases": self.cases, "words": self.words})
        (folder / "cases.json").write_text(text, encoding="utf-8")
        (folder / "cases.bin").write_bytes(np.concatenate(self.numbers).astype("<f8").tobytes())
        (folder / "graphs.html").write_text(PAGE, encoding="utf-8")


def drawn_sizes(program: Program, case: int, chance: torch.Generator) -> dict[str, int]:
    """Sizes for a case: lengths from 1 to 16, and in a third of all cases extreme numbers."""

    def number(most: int) -> int:
        return int(torch.randint(1, most + 1, (), generator=chance))

    sizes = {name: number(16 if name in LENGTHS else 4) for name in program.sizes()}
    if case % 3 == 0:
        sizes["extreme"] = case // 3 + 1
        if "d_k" in sizes:
            sizes["d_k"] = 4 ** number(2)  # whose root is a whole number, too
    return sizes


def drawn(program: Program, count: int = CASES) -> Iterator[tuple[dict[str, Any], list[Tensor]]]:
    """Inputs, and what the library makes of them."""
    chance = torch.Generator().manual_seed(1)
    for case in range(count):
        inputs = program.draw(drawn_sizes(program, case, chance), chance)
        with torch.no_grad():
            yield inputs, tensors(program.function(*inputs.values()))


def tensors(x: Any) -> list[Tensor]:
    """All tensors of an output, in order."""
    return [x] if isinstance(x, Tensor) else [one for part in x for one in tensors(part)]
