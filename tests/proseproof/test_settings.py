"""What is wrong with the settings is said in one line."""

import pytest
from sample_site import Site


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('pagse = ["docs"]\n', "[tool.proseproof] has no key 'pagse'"),
        ("pages = [\n", "pyproject.toml: "),
    ],
)
@pytest.mark.parametrize("command", [["pytest"], ["proseproof", "report"]], ids=str)
def test_bad_settings_are_one_line(site: Site, lines: str, said: str, command: list[str]) -> None:
    text = '[tool.pytest.ini_options]\naddopts = "--codeblocks"\n[tool.proseproof]\n'
    site.write("pyproject.toml", text + lines)
    done = site.run(*command)
    assert done.returncode != 0
    if "pagse" in said or command[0] == "proseproof":  # pytest itself refuses a broken file
        assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_folder_without_a_section_is_told_what_is_missing(site: Site) -> None:
    site.write("pyproject.toml", "")
    done = site.run("proseproof", "report")
    assert done.returncode == 2
    assert done.stderr == "no [tool.proseproof] in this folder's pyproject.toml\n"
