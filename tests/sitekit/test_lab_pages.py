"""Labs are shown with their record, and become pages like the others."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from small_site import ROOT, write_lab, write_record

from headwise.drawing.plot import mask_picture
from proseproof import records
from proseproof.settings import Settings
from sitekit import lab_pages, notebooks

INNER = "labs/small.py"


def _load(project: Path, language: str = "en") -> lab_pages.Lab:
    settings = Settings.load(project)
    assert settings is not None
    path = project / "docs" / language / INNER
    return lab_pages.load(path, settings, INNER, language, None)


def _record(project: Path, *outputs: dict[str, Any]) -> None:
    code = 'n = 1\nprint("result", n)\n'
    record = records.of([code], [list(outputs)], False)
    records.write(project / "docs/records/labs/small.json", record)


def _drawn(svg: str, **more: Any) -> dict[str, Any]:
    data = {"image/svg+xml": svg, "text/plain": "words", **more}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def test_page_shows_what_is_recorded(project: Path) -> None:
    lab = _load(project)
    assert lab.markdown.startswith("---\n") or "# Title {#lab}" in lab.markdown
    assert '```python\nn = 1\nprint("result", n)\n```\n\n```text\nresult 1\n```' in lab.markdown
    assert not lab.is_running


def test_notebook_has_the_recorded_outputs_and_no_front_matter(project: Path) -> None:
    lab = _load(project)
    kinds = [cell.cell_type for cell in lab.notebook.cells]
    assert kinds == ["markdown", "code"]
    assert lab.notebook.cells[1].outputs[0].text == "result 1\n"
    assert "result 1" in notebooks.for_readers(lab.notebook, "https://a.b/", "https://c.d")


def test_record_of_other_code_is_refused(project: Path) -> None:
    write_lab(project, "2")
    with pytest.raises(lab_pages.LabError, match=r"is of other code; to mend: make update"):
        _load(project)


def test_comment_in_another_language_is_the_same_code(project: Path) -> None:
    write_lab(project, "1  # 一", ("zh",))
    assert "result 1" in _load(project, "zh").markdown


def test_figure_without_words_is_refused(project: Path) -> None:
    _record(project, _drawn("<svg></svg>"))
    with pytest.raises(lab_pages.LabError, match="text alternative") as caught:
        _load(project)
    assert caught.value.line == 9


def test_pixels_are_refused(project: Path) -> None:
    _record(project, {"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}})
    with pytest.raises(lab_pages.LabError, match="pixels"):
        _load(project)


@pytest.mark.parametrize(
    ("width", "kind"), [("390", "plot"), ("433", "plot broad"), ("700.5", "plot wide")]
)
def test_wide_figure_keeps_its_size(project: Path, width: str, kind: str) -> None:
    _record(project, _drawn(f'<svg role="img" aria-label="words" width="{width}"></svg>'))
    (figure,) = _load(project).figures
    assert figure.startswith(f'<figure class="{kind}" style="--width: {width}"><svg ')


def test_maps_are_shown_one_by_one_too(project: Path) -> None:
    maps = [mask_picture(torch.ones(n, 5, 5).bool()) for n in (1, 4)]
    _record(project, *(_drawn(figure.svg) for figure in maps))
    one, four = _load(project).figures
    assert one.startswith('<figure class="plot" ') and "<use" not in one
    (wide, high) = re.findall(r'viewBox="0 0 (\S+) (\S+)"', maps[1].svg)[0]
    assert four.startswith('<figure class="plot wide maps" ')
    corners = re.findall(r'<svg class="map" viewBox="(\S+) (\S+) (\S+) (\S+)"', four)
    half, rest = float(wide) / 2, float(high) / 2
    assert [tuple(map(float, corner)) for corner in corners] == [
        (x, y, half, rest) for y in (0, rest) for x in (0, half)
    ]
    (name,) = re.findall('<g id="(maps-[^"]+)">', four)
    assert four.count(f'<use href="#{name}"/>') == 4


def test_figure_is_its_twin_on_the_other_languages_page(project: Path) -> None:
    twin = {"lang": "zh", "svg": '<svg role="img" aria-label="字"/>', "alt": "字"}
    svg = '<svg role="img" aria-label="word"/>'
    _record(project, _drawn(svg, **{"application/vnd.headwise.twin+json": twin}))
    assert "word" in _load(project, "en").figures[0]
    assert "字" in _load(project, "zh").figures[0]


def test_record_of_what_varies_says_where_and_when(project: Path) -> None:
    file = project / "docs/records/labs/small.json"
    record = records.read(file)
    assert record is not None
    records.write(file, records.Record(record.cells, {"date": "2026-01-02", "processor": "one"}))
    assert _load(project).made["date"] == "2026-01-02"


def test_damaged_record_is_one_sentence(project: Path) -> None:
    (project / "docs/records/labs/small.json").write_text("{")
    with pytest.raises(lab_pages.LabError, match=r"small\.json cannot be read"):
        _load(project)
    write_record(project, "1")
    assert _load(project).figures == []


@pytest.mark.parametrize("language", ["zh", "en"])
def test_figures_of_the_real_labs_speak_the_pages_language(language: str) -> None:
    settings = Settings.load(ROOT)
    assert settings is not None
    path = ROOT / "docs" / language / "labs" / "scaling.py"
    lab = lab_pages.load(path, settings, "labs/scaling.py", language, None)
    assert len(lab.figures) == 3
    for figure in lab.figures:
        label = re.search(r'aria-label="([^"]+)"', figure)
        assert label and bool(re.search(r"[\u4e00-\u9fff]", label[1])) == (language == "zh")
