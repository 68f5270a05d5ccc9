"""What the command lines of the library share: wrong input gets one line and exit code 2."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from headwise._check import check_each


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong in one line, and not first how it is used."""

    def read(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """The options, from words or, by default, from the command line."""
        if arguments is not None:
            check_each("arguments", arguments, str, expected="a list of words")
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """End with the line, of which the first word is the module's name."""
        self.exit(2, f"{self.prog.removeprefix('python -m ')}: {message.splitlines()[0]}\n")
