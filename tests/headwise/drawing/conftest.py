"""Lets the tests of drawings find the helpers beside them."""

import sys
from pathlib import Path

# pytest's importlib mode leaves a test folder off the path, and with it the helpers beside us.
sys.path.append(str(Path(__file__).parent))
