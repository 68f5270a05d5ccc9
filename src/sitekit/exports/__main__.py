"""python -m sitekit.exports writes the graphs that pages run; `make update` does so."""

from sitekit.exports import programs
from sitekit.graphs import FOLDER, files


def main() -> None:
    """Write what has changed, and take away what nothing exports any more."""
    new = files(programs())
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        if old.name not in new:
            old.unlink()
            print(f"removed {old.name}")
    for name, content in new.items():
        file = FOLDER / name
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
