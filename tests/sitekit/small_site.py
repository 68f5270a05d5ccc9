"""The pages of a small site, and how a test changes them."""

from pathlib import Path

from proseproof import records

ROOT = Path(__file__).parents[2]

INDEX = """---
description: A page.
---

# {title} {{#home}}

See [the words](glossary.md) and [one of them](glossary.md#mask). $x^2$

```python title="src/headwise/heads.py"
--8<-- "src/headwise/heads.py:split_heads"
```

```python
print(1)
```
"""
GLOSSARY = "# {title} {{#glossary}}\n\n## {word} {{#mask}}\n\n{word}: {title}.\n"
LAB = """# ---
# description: A lab.
# ---

# %% [markdown]
# # {title} {{#lab}}

# %%
n = {value}
print("result", n)
"""
NAV = "nav:\n  - index.md\n  - glossary.md\n  - labs/small.py\n\n"
WORDS = {"zh": ("标题", "掩码"), "en": ("Title", "mask")}


def write_lab(project: Path, value: str, languages: tuple[str, ...] = ("zh", "en")) -> None:
    for language in languages:
        file = project / "docs" / language / "labs" / "small.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        title, _ = WORDS[language]
        file.write_text(LAB.format(title=title, value=value), encoding="utf-8")


def write_record(project: Path, value: str) -> None:
    shown = [{"output_type": "stream", "name": "stdout", "text": f"result {value}\n"}]
    code = f'n = {value}\nprint("result", n)\n'
    records.write(project / "docs/records/labs/small.json", records.of([code], [shown], False))
