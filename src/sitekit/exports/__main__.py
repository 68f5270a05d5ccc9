"""python -m sitekit.exports writes the graphs that pages run; `make update` does so.

With a folder behind it, it writes them there.
"""

import sys
from pathlib import Path

from sitekit.exports import programs
from sitekit.graphs import FOLDER, files


def main(folder: Path) -> None:
    """Write what has changed, and take away what nothing exports any more."""
    new = files(programs())
    folder.mkdir(parents=True, exist_ok=True)
    old = {file.name: file.read_bytes() for file in folder.iterdir()}
    for name in sorted(name for name in {*new, *old} if new.get(name) != old.get(name)):
        print(f"{name} was written anew")
        if name in new:
            (folder / name).write_bytes(new[name])
        else:
            (folder / name).unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
