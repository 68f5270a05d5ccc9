"""What exists: the names and parameters that a sentence may mention."""

from __future__ import annotations

import builtins
import difflib
import functools
import importlib
import importlib.util
import inspect
import keyword
import re
import sys
from typing import Any

from proseproof.quoted_code import Code, own_code
from proseproof.settings import Settings

# Where a bare name may be at home, when the page or the project imports the package.
HOMES = {
    "torch": ("torch.Tensor", "torch", "torch.nn", "torch.nn.functional", "torch.nn.Module"),
}
ALIASES = {"nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy", "plt": "matplotlib.pyplot"}


class Names:
    """The names that are known at one place of a page."""

    def __init__(self, settings: Settings, values: dict[str, Any], code: Code) -> None:
        self.settings, self.values, self.code = settings, values, code
        self.own = own_code(settings.root, settings.rewrite)

    def exists(self, dotted: str) -> bool:
        """True when a name is known here.

        Looked up where `known` looks, and in whatever can be imported.
        """
        first = dotted.partition(".")[0]
        if self.known(dotted) or first in self.values or first == "self":
            return self.known(dotted)
        return _import_path(_unabbreviated(dotted)) is not None

    def known(self, dotted: str) -> bool:
        """True when a name is known here without importing what nobody here imports.

        Looked up in this order: the namespace; builtins and keywords; the page's code; attributes
        of what the namespace holds; what the project's own packages define; `homes`; modules of
        imported packages.
        """
        first, _, rest = dotted.partition(".")
        if first in self.values:
            return _has(self.values[first], rest) or dotted in self.code.names
        if first == "self" and rest:
            return dotted in self.code.names
        if _has(builtins, dotted) or keyword.iskeyword(dotted) or dotted in self.code.names:
            return True
        for name, value in self.values.items():
            if name[:2] != "__" and _is_rich(value) and _has(value, dotted):
                return True
        if dotted in self.own.names:
            return True
        for home in self.homes:
            owner = _import_path(home)
            if owner is not None and _has(owner, dotted):
                return True
        return self.is_imported(dotted) and _import_path(_unabbreviated(dotted)) is not None

    @property
    def imported(self) -> set[str]:
        """The packages that the page or the project imports, by their first name."""
        return self.code.imports | self.own.imports

    def is_imported(self, dotted: str) -> bool:
        """True for a name in a package that is imported, or inside one of Python's own."""
        top, dot, _ = _unabbreviated(dotted).partition(".")
        return top in self.imported or (bool(dot) and top in sys.stdlib_module_names)

    @property
    def homes(self) -> tuple[str, ...]:
        """Where bare names may be at home: what is set, and what belongs to imported packages.

        A package that neither the page nor the project imports is not loaded to look there.
        """
        known = [home for name, homes in HOMES.items() if name in self.imported for home in homes]
        return (*known, *self.settings.homes)

    def is_parameter(self, name: str) -> bool:
        """True when something that is known here takes a parameter of that name."""
        if name in self.code.keywords or name in self.own.keywords:
            return True
        for value in self.values.values():
            if callable(value) and name in _parameters(value):
                return True
            if inspect.ismodule(value) and name in _known_parameters((value.__name__,)):
                return True
        return name in _known_parameters(self.homes)

    def beside(self, dotted: str) -> set[str]:
        """The public names at the place where a name is looked up, for a message."""
        owner, dot, _ = dotted.rpartition(".")
        if not dot:
            return {name for home in self.homes for name in dir(_import_path(home))}
        held = self.values.get(owner)
        if held is None and self.is_imported(dotted):
            held = _import_path(_unabbreviated(owner))
        return {f"{owner}.{name}" for name in dir(held)} if held is not None else set()

    def near(self, text: str) -> str:
        """Names that are spelt much like `text`, for a message."""
        known = [name for name in {*self.values, *self.code.names} if not name.startswith("__")]
        near = difflib.get_close_matches(text, sorted(known), n=3)
        return f"; near: {', '.join(near)}" if near else ""


def is_module(name: str) -> bool:
    """True when a module of that name can be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def importable(dotted: str) -> Any:
    """What can be imported under that name, `nn` and its like included; None when nothing can."""
    return _import_path(_unabbreviated(dotted))


def _unabbreviated(dotted: str) -> str:
    first, dot, rest = dotted.partition(".")
    return ALIASES.get(first, first) + dot + rest


def _has(owner: Any, dotted: str) -> bool:
    for name in dotted.split(".") if dotted else []:
        try:
            owner = inspect.getattr_static(owner, name)
        except AttributeError:
            try:
                owner = getattr(owner, name)
            except Exception:
                return False
        if isinstance(owner, staticmethod | classmethod):
            owner = owner.__func__
    return True


def _is_rich(value: Any) -> bool:
    """True for objects whose attributes a sentence may name without naming the object."""
    return not isinstance(value, int | float | str | bytes | list | dict | set) and not (
        inspect.ismodule(value) and value.__name__ == "builtins"
    )


@functools.cache
def _import_path(dotted: str) -> Any:
    """The object at an importable path, or None."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        name = ".".join(parts[:cut])
        if parts[0] not in sys.modules and not is_module(parts[0]):
            return None
        try:
            owner: Any = importlib.import_module(name)
        except Exception:  # not a module, or one that cannot be imported: no such name
            continue
        for part in parts[cut:]:
            owner = getattr(owner, part, None)
        return owner
    return None


@functools.lru_cache(maxsize=4096)
def _signature(value: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(value).parameters)
    except (ValueError, TypeError):
        text = (inspect.getdoc(value) or "").partition("\n\n")[0]
        match = re.match(r"\s*[\w.]+\((.*?)\)", text, re.DOTALL)
        return frozenset(re.findall(r"[A-Za-z_]\w*", match[1])) if match else frozenset()


def _parameters(value: Any) -> frozenset[str]:
    try:
        return _signature(value)
    except TypeError:  # not hashable
        return frozenset()


@functools.cache
def _known_parameters(homes: tuple[str, ...]) -> frozenset[str]:
    """Parameters of everything public in the homes."""
    found: set[str] = set()
    for home in homes:
        owner = _import_path(home)
        for name in dir(owner) if owner is not None else ():
            value = None if name.startswith("_") else inspect.getattr_static(owner, name, None)
            if callable(value):
                found |= _parameters(value)
                if inspect.isclass(value) and "forward" in vars(value):
                    found |= _parameters(vars(value)["forward"])
    return frozenset(found)
