"""Helpers beside us, which pytest's importlib mode leaves off the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
