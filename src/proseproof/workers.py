"""Which tests one worker of pytest-xdist runs, when tests run side by side."""

from __future__ import annotations

from typing import Any

from proseproof.settings import Settings


def group(settings: Settings, node: str) -> str:
    """What goes to one worker: both languages of a page, which share what they run.

    Of other tests, those of one file that have the same parameters, or none.
    """
    path, _, name = node.partition("::")
    place = settings.language(path)
    if place is not None:
        return place[1]
    _, bracket, parameters = name.partition("[")
    return path + bracket + parameters


def scheduler(config: Any, log: Any, settings: Settings) -> Any:
    """A scheduler of pytest-xdist that keeps groups together and in their order."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group(settings, nodeid)

        def remove_node(self, node: Any) -> str | None:
            """Hand on what a worker has left, but not the test that it died of."""
            units = self.assigned_work[node].values()
            left = [(unit, name) for unit in units for name, done in unit.items() if not done]
            if left:
                unit, died_of = left[0]
                unit[died_of] = True
            super().remove_node(node)
            return died_of if left else None

    config.option.loadscopereorder = False  # what takes longest comes first
    return Groups(config, log)
