"""python -m sitekit.exports writes the graphs that pages run; `make update` does so.

With --check it writes nothing, and fails if something would change.
"""

import sys

from sitekit.exports import programs
from sitekit.graphs import FOLDER, files


def main(check: bool) -> int:
    """Write what has changed, and take away what nothing exports any more."""
    new = files(programs())
    FOLDER.mkdir(parents=True, exist_ok=True)
    old = {file.name: file.read_bytes() for file in FOLDER.iterdir()}
    changed = sorted(name for name in {*new, *old} if new.get(name) != old.get(name))
    for name in changed:
        print(f"{name} {'is not what the library exports now' if check else 'was written anew'}")
        if check:
            continue
        if name in new:
            (FOLDER / name).write_bytes(new[name])
        else:
            (FOLDER / name).unlink()
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
