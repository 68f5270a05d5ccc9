"""What the command lines of the library share: wrong input gets one line and exit code 2."""

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong in one line, and not first how it is used."""

    def error(self, message: str) -> NoReturn:
        """End with the line, of which the first word is the module's name."""
        self.exit(2, f"{self.prog.removeprefix('python -m ')}: {message.splitlines()[0]}\n")
