"""What pages can run: each module here has PROGRAMS, functions by the name of their graph."""

from __future__ import annotations

import importlib
import pkgutil

from sitekit.graphs import Program


def programs() -> dict[str, Program]:
    """Every function that is exported, by the name of its graph."""
    found: dict[str, Program] = {}
    topics = [one.name for one in pkgutil.iter_modules(__path__) if one.name != "__main__"]
    for topic in topics:
        for name, program in importlib.import_module(f"{__name__}.{topic}").PROGRAMS.items():
            assert name not in found, f"two graphs are called {name}"
            found[name] = program
    return found
