"""The graphs that pages run: exported from the library, with its names, as they are recorded."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise import masks
from headwise.attention import attention
from headwise.heads import merge_heads, split_heads
from sitekit.exports import programs
from sitekit.graph_inputs import Floats, Mask, Number
from sitekit.graphs import FOLDER, SOURCE, GraphError, Program, export, operators, write

PROGRAMS = programs()


@pytest.fixture(scope="session")
def exported_now(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """In an interpreter of its own: here, the library asserts shapes as it runs."""
    folder = tmp_path_factory.mktemp("exported")
    subprocess.run([sys.executable, "-m", "sitekit.exports", str(folder)], check=True)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_recorded_graphs_are_what_the_library_exports_now(exported_now: dict[str, bytes]) -> None:
    recorded = {file.name: file.read_bytes() for file in FOLDER.iterdir()}
    names = sorted({*recorded, *exported_now})
    changed = [name for name in names if recorded.get(name) != exported_now.get(name)]
    assert changed == [], "python -m sitekit.exports mends it"


def exported(function: Callable[..., Any], *inputs: Any) -> dict[str, Any]:
    return export(Program(function, {f"x{i}": one for i, one in enumerate(inputs)}))[0]


def test_unknown_operator_is_named_with_its_line() -> None:
    program = Program(masks.to_additive, {"mask": Mask("query", "key")})
    line = next(
        i
        for i, text in enumerate((SOURCE / "masks.py").read_text("utf-8").splitlines(), 1)
        if "torch.zeros_like(mask" in text
    )
    message = f"src/headwise/masks.py:{line}: the runtime does not know the operator zeros_like"
    with pytest.raises(GraphError, match=re.escape(message)):
        export(program, operators() - {"zeros_like.default"})


def test_values_have_the_names_of_the_source() -> None:
    Q = Floats("heads", "query", "d_k")
    graph = exported(attention, Q, Q, Q, Mask("query", "query"))
    named = [name for _, _, *names in graph["nodes"] for name in names]
    assert [name for name in named if not name.endswith("()")] == [
        *("scores", "scores", "blind", "scores", "weights", "weights", "out")
    ]


def test_names_of_a_model_begin_with_its_modules() -> None:
    graph = (FOLDER / "translator_decode.json").read_text("utf-8")
    for layer in (0, 1):
        for part in ("self_attention", "cross_attention"):
            assert f'"decoder.layers.{layer}.{part}.weights"' in graph


def test_lines_are_those_of_the_source_and_each_has_the_place_of_what_it_makes() -> None:
    x = Floats("batch", "seq_len", "num_heads*d_k")
    inputs = {"x": x, "num_heads": Number("num_heads")}
    graph, _ = export(Program(lambda x, n: merge_heads(split_heads(x, n)), inputs, refusal="no"))
    assert graph["refusal"] == "no"
    (cut, split, turned, merged) = graph["lines"]
    names = ["batch", "seq_len", "num_heads", "d_k"]
    place = {name: f"${i}" for i, (_, _, *found) in enumerate(graph["nodes"], 2) for name in found}
    assert cut[:4] == [0, "heads.py", "x = x.reshape(batch, seq_len, num_heads, d_k)", names]
    assert split[2:] == [
        "return x.transpose(1, 2)",
        [names[i] for i in (0, 2, 1, 3)],
        {"split_heads()": place["split_heads()"]},
    ]
    assert turned[2:] == ["x = x.transpose(1, 2)", names, {"x": place["x"]}]
    assert merged[3:] == [
        ["batch", "seq_len", "d_model"],
        {"merge_heads()": place["merge_heads()"]},
    ]
    assert "lines" not in export(Program(split_heads, inputs))[0]


def test_what_only_checks_or_hands_on_is_left_out() -> None:
    graph = exported(attention, *[Floats("heads", "query", "d_k")] * 3)
    used = [name for name, *_ in graph["nodes"]]
    assert used == [
        *("sym_size.int", "sym_sqrt", "div.Tensor", "transpose.int"),
        *("matmul.default", "softmax.int", "matmul.default"),
    ]


def test_graph_is_the_same_twice() -> None:
    program = PROGRAMS["attention_masked"]
    assert write(export(program)[0]) == write(export(program)[0])


def test_every_operator_of_the_runtime_is_used() -> None:
    used = set()
    for file in FOLDER.glob("*.json"):
        used |= set(re.findall(r'^\["([\w.]+)"', file.read_text("utf-8"), re.M))
    assert operators() - used == set()


def test_drawn_masks_hide_whole_rows_and_drawn_numbers_are_extreme() -> None:
    chance = torch.Generator().manual_seed(0)
    drawn = [Mask("n", "n").draw({"n": 5}, chance) for _ in range(9)]
    assert any(not row.any() for mask in drawn for row in mask)
    largest = [Floats("n").draw({"n": 9, "extreme": k}, chance).abs().max() for k in (1, 2, 3)]
    assert isinstance(largest[0], Tensor) and max(largest) > 1e15
