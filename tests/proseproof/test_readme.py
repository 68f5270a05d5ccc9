"""What README.md and --help say of proseproof is what it does."""

import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from sample_site import Site

import proseproof
from proseproof.__main__ import parser
from proseproof.settings import Settings

README = Path(proseproof.__file__).with_name("README.md").read_text(encoding="utf-8")
HELP = parser().format_help()
COMMANDS = re.findall(r"^    (\w+) {2,}", HELP.partition("commands:")[2], re.MULTILINE)


def rows(heading: str) -> list[list[str]]:
    """The code in each row of the table below a heading."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    return [re.findall(r"`([^`]+)`", line) for line in table]


def test_table_of_settings_has_every_setting_with_its_default() -> None:
    said = {name: tomllib.loads(f"x = {default}")["x"] for name, default, *_ in rows("Settings")}
    known = {
        one.name: one.default if one.default_factory is MISSING else one.default_factory()
        for one in fields(Settings)
        if one.name != "root"
    }
    assert list(said) == Settings.names()
    assert said == {key: list(v) if isinstance(v, tuple) else v for key, v in known.items()}


def test_table_of_directives_has_every_directive(site: Site) -> None:
    findings = site.page("<!--proseproof: nonsense-->\n```python\nx = 1\n```\n")
    known = re.findall(r"(?:^one of: |· )(\w+)", findings[0].remedy)
    said = [
        match[1]
        for row in rows("Marks and directives")
        if (match := re.match(r"<!--proseproof: (\w+)", row[0]))
    ]
    assert sorted(said) == sorted([*known, "shapes"])


def test_table_of_commands_has_every_command() -> None:
    said = [row[0] for row in rows("Commands")]
    ours = [line.rpartition(" ")[2] for line in said if line.startswith("python -m proseproof")]
    assert ours == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([command, "--help"])
    example = capsys.readouterr().out.partition("example:\n    python -m proseproof ")[2].split()
    assert parser().parse_args(example).command == command


def test_help_fits_a_terminal_and_names_every_setting() -> None:
    assert max(map(len, HELP.splitlines())) <= 100
    assert all(re.search(rf"\b{name}\b", HELP) for name in Settings.names())


def test_first_example_fails_as_shown_and_update_mends_its_output(site: Site) -> None:
    page = re.search(r"````markdown\n(.*?)````", README, re.DOTALL)
    shown = re.search(r"pytest says:\n\n```text\n(.*?)```", README, re.DOTALL)
    assert page and shown
    site.write("pyproject.toml", "[tool.proseproof]\n")
    site.write("README.md", page[1])
    said = site.run("pytest").stdout.splitlines()
    wrong, untrue = shown[1].splitlines()
    assert {wrong, untrue} <= set(said)
    assert site.run("proseproof", "update").returncode == 0
    said = site.run("pytest").stdout.splitlines()
    assert wrong not in said and untrue in said
