"""Any text: what hypothesis draws of itself, without its asking UTF-8 about every character."""

from typing import Any

from hypothesis import strategies as st


def any_text(**sizes: Any) -> st.SearchStrategy[str]:
    """Text of all that can be encoded, which is every character but surrogates."""
    return st.text(st.characters(exclude_categories=["Cs"]), **sizes)
