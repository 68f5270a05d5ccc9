"""A formula as a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """A part of a formula: what it is, what it says, and its own parts.

    | kind | text | parts |
    |---|---|---|
    | number, name, text, sign, dots, hole | as written | |
    | sub, power | | the base, and what is below or above it |
    | prime, negative, plusminus, norm, size | | one |
    | sum | the signs of the parts, such as `+-` | two or more |
    | product | `· `: how each part but the first joins: `·`, `×`, `/` or a space | two or more |
    | root | | what is under it, and the degree if there is one |
    | call | how many parts are arguments, the rest being given | the function, the arguments … |
    | big | sum or prod | the variable or list, from, to, the body (from, to may be `hole`) |
    | list | | what is enumerated, in brackets |
    | matrix, cases | the number of columns | row by row |
    | relation | the relations between the parts, such as `=≈` | two or more |
    """

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()

    def __contains__(self, other: Node) -> bool:
        return self == other or any(other in part for part in self.parts)

    def walk(self) -> list[Node]:
        """The node and everything in it."""
        return [self, *(one for part in self.parts for one in part.walk())]


HOLE = Node("hole")


def spelt(node: Node) -> str:
    """The tree as one would write it."""
    parts = [spelt(part) for part in node.parts]
    match node.kind:
        case "sub" | "power":
            above = parts[1] if len(parts[1]) == 1 or parts[1][0] == "\\" else f"{{{parts[1]}}}"
            return f"{parts[0]}{'_' if node.kind == 'sub' else '^'}{above}"
        case "sum":
            joined = "".join(f" {s} {p}" for s, p in zip(node.text, parts, strict=True))
            return joined.removeprefix(" + ").strip()
        case "product":
            pairs = zip(node.text, parts[1:], strict=True)
            marks = {"·": r" \cdot ", "×": r" \times ", "/": " / ", " ": " "}
            return parts[0] + "".join(marks[join] + part for join, part in pairs)
        case "relation":
            pairs = zip(node.text, parts[1:], strict=True)
            return parts[0] + "".join(f" {sign} {part}" for sign, part in pairs)
        case "call":
            count = int(node.text)
            given = f" | {', '.join(parts[1 + count :])}" if parts[1 + count :] else ""
            return f"{parts[0]}({', '.join(parts[1 : 1 + count])}{given})"
        case "root":
            return f"\\sqrt{{{parts[0]}}}"
        case "prime":
            return f"{parts[0]}'"
        case "negative":
            return f"-{parts[0]}"
        case "big":
            return f"\\{node.text}_{parts[0]} {parts[3]}"
        case "matrix" | "cases" | "list" | "norm" | "size" | "plusminus":
            return f"({', '.join(parts)})"
        case "dots":
            return "…"
    return node.text or "·"
