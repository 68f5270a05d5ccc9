"""With --since, only what a change touches is proved, and what is left out is said."""

import subprocess

import pytest
from sample_site import Site

PAGE = "# A {{#a}}\n\n```python\n{}\nn = 1\n```\n\nHere `n == 1`.\n"


@pytest.fixture
def committed(site: Site) -> Site:
    site.configure('rewrite = ["lib"]\n')
    text = (site.root / "pyproject.toml").read_text()
    (site.root / "pyproject.toml").write_text(text.replace('"docs"]', '"docs", "tests"]', 1))
    site.write("lib/one.py", "value = 1\n")
    site.write("lib/two.py", "value = 2\n")
    for name in ("one", "two"):
        page = PAGE.format(f"import lib.{name}")
        site.pair(page, page, f"{name}.md")
        site.write(f"tests/test_{name}.py", "def test_it():\n    assert True\n")
    assert site.run("proseproof", "confirm").returncode == 0
    site.write(".gitignore", ".cache\n__pycache__\n")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *command], cwd=site.root, check=True)
    return site


def proved(site: Site) -> tuple[set[str], str]:
    done = site.run("pytest", "-v", "--since", "HEAD")
    assert done.returncode == 0, done.stdout
    return {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}, done.stdout


def test_nothing_changed_is_no_failure(committed: Site) -> None:
    ran, said = proved(committed)
    assert ran == set()
    assert "left out, as nothing touches them: 4 pages, 2 test files" in said


def test_page_brings_its_other_language(committed: Site) -> None:
    for language in ("zh", "en"):
        file = committed.root / f"docs/{language}/one.md"
        file.write_text(file.read_text().replace("Here", "There"))
    assert committed.run("proseproof", "confirm").returncode == 0
    subprocess.run(["git", "add", "docs/translations.lock"], cwd=committed.root, check=True)
    ran, _ = proved(committed)
    assert {"docs/zh/one.md", "docs/en/one.md"} <= ran
    assert not any("test" in name for name in ran)


def test_page_that_links_to_what_changed_is_asked_for_its_links_alone(committed: Site) -> None:
    for language in ("zh", "en"):
        committed.write(f"docs/{language}/links.md", "# L {#l}\n\n[A](one.md#a) `1 == 1`\n")
    assert committed.run("proseproof", "confirm").returncode == 0
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "links"]
    subprocess.run(["git", "add", "-A"], cwd=committed.root, check=True)
    subprocess.run(git, cwd=committed.root, check=True)
    for language in ("zh", "en"):
        file = committed.root / f"docs/{language}/one.md"
        file.write_text(file.read_text().replace("{#a}", "{#b}"))
    said = committed.run("pytest", "-v", "--since", "HEAD").stdout
    assert "docs/en/links.md::accounted FAILED" in said
    assert "docs/en/links.md::prose" not in said


def test_source_brings_the_pages_that_import_it_and_the_test_of_its_name(committed: Site) -> None:
    committed.write("lib/two.py", "value = 3\n")
    ran, said = proved(committed)
    assert ran == {"docs/zh/two.md", "docs/en/two.md", "tests/test_two.py"}
    assert "left out, as nothing touches them: 2 pages, 1 test files" in said


def test_new_file_counts_as_changed(committed: Site) -> None:
    committed.write("tests/test_three.py", "def test_it():\n    assert True\n")
    ran, _ = proved(committed)
    assert ran == {"tests/test_three.py"}


def test_unknown_revision_is_one_line(committed: Site) -> None:
    done = committed.run("pytest", "--since", "nowhere")
    assert done.returncode == 4
    assert "--since nowhere: fatal" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
