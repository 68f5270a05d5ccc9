"""Lets these tests import the helper beside them: pytest's importlib mode leaves it off the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
