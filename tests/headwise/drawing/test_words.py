"""Words: both languages have the same, and every one is used."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

from headwise import drawing

NAMES = [one.name for one in pkgutil.iter_modules(drawing.__path__, "headwise.drawing.")]
SPOKEN = [one for one in map(importlib.import_module, NAMES) if hasattr(one, "WORDS")]
every_module = pytest.mark.parametrize("module", SPOKEN, ids=lambda one: one.__name__)


@every_module
def test_both_languages_have_the_same_words(module: ModuleType) -> None:
    english, chinese = module.WORDS["en"], module.WORDS["zh"]
    assert english.keys() == chinese.keys()
    for name, words in english.items():
        assert words.count("{") == chinese[name].count("{"), name


@every_module
def test_every_word_is_used(module: ModuleType) -> None:
    source = inspect.getsource(module).split("\n}\n", 1)[1]
    assert [name for name in module.WORDS["en"] if f'"{name}"' not in source] == []
