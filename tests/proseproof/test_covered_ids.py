"""Required ids are treated, in both languages, or stand among those to come."""

import pytest
from sample_site import Site, places

from proseproof.settings import SettingsError, expand


def page(ids: str, *anchors: str) -> str:
    return f"---\nids: [{ids}]\n---\n" + "".join(f"# H {{#{anchor}}}\n\n" for anchor in anchors)


def test_ranges_are_expanded() -> None:
    assert expand(["T1-T3", "Q7"]) == ["T1", "T2", "T3", "Q7"]


@pytest.mark.parametrize("name", ["T1-Q3", "t1", "1-3", ""])
def test_bad_range_is_refused(name: str) -> None:
    with pytest.raises(SettingsError):
        expand([name])


def test_every_id_treated_or_to_come_is_no_alarm(site: Site) -> None:
    site.write("docs/required_ids.toml", 'required = ["T1-T2", "Q13"]\nto_come = ["T2"]\n')
    text = page("T1, Q13", "t1", "q13-transpose")
    site.pair(text, text)
    assert site.proof("docs/zh/x.md").covered() == []
    assert site.findings_of_project() == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (page("T1, T2", "t1"), 1),
        (page("T1", "t1", "t2-more"), 6),
        (page("T1", "t10"), 1),
        (page("T1, T9", "t1"), 1),
        ("---\nids: T1\n---\n# H {#t1}\n", 1),
        ("---\nids: [1]\n---\n# H {#t1}\n", 1),
    ],
)
def test_id_and_heading_that_disagree_are_caught(site: Site, text: str, line: int) -> None:
    site.write("docs/required_ids.toml", 'required = ["T1-T2"]\n')
    site.pair(text, text)
    assert f"docs/zh/x.md:{line}" in places(site.proof("docs/zh/x.md").covered())


def test_missing_id_is_caught_in_each_language(site: Site) -> None:
    site.write("docs/required_ids.toml", 'required = ["T1-T2"]\n')
    site.pair(page("T1, T2", "t1", "t2"), page("T1", "t1"))
    assert [one.message for one in site.findings_of_project()] == ["no page in en treats T2"]


def test_id_to_come_that_is_there_is_stale(site: Site) -> None:
    site.write("docs/required_ids.toml", 'required = ["T1"]\nto_come = ["T1"]\n')
    site.pair(page("T1", "t1"), page("T1", "t1"))
    assert [one.message for one in site.findings_of_project()] == [
        "T1 is there (zh)",
        "T1 is there (en)",
    ]


def test_id_to_come_that_nobody_requires_is_caught(site: Site) -> None:
    site.write("docs/required_ids.toml", 'required = []\nto_come = ["T1"]\n')
    assert len(site.findings_of_project()) == 1


@pytest.mark.parametrize("text", ["required = [", 'required = "T1"', 'required = ["no id"]'])
def test_bad_list_of_ids_is_one_sentence(site: Site, text: str) -> None:
    site.write("docs/required_ids.toml", text)
    with pytest.raises(SettingsError, match="ids"):
        site.findings_of_project()
