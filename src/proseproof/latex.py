r"""Reading formulas: from LaTeX to a tree, as far as pages of mathematics use it.

It is a reader by recursive descent. What it knows is in `KNOWN`, which every error quotes. Whether
`f(x)` calls f or multiplies by it, and whether `PE` is one name or two, only the notation can tell:
it comes in as a `Vocabulary`.
"""

from __future__ import annotations

import re

from proseproof.latex_nodes import HOLE, Node
from proseproof.latex_signs import DOTS, LatexError, Tokens, Vocabulary, tokens_of

RELATIONS = {
    "=": "=", r"\ne": "≠", r"\neq": "≠", "<": "<", r"\lt": "<", ">": ">", r"\gt": ">",
    r"\le": "≤", r"\leq": "≤", r"\ge": "≥", r"\geq": "≥", r"\approx": "≈", r"\in": "∈",
}  # fmt: skip
FUNCTIONS = frozenset(
    ("sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "ln", "log", "max", "min")
)
GREEK = re.compile(
    r"\\(?:alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|"
    r"tau|(?:var)?phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega)"
)
STYLES = frozenset((r"\mathbf", r"\mathrm", r"\mathit", r"\boldsymbol", r"\vec", r"\hat"))
MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "vmatrix"))
SIGNS = frozenset((r"\top", r"\sum", r"\prod", r"\cdot", r"\infty", r"\mid"))
KNOWN = (
    r"numbers, letters, \text{…} and \operatorname{…} with sub- and superscripts; + - \cdot \times "
    r"/ \frac \sqrt \pm ^; = \ne < > \le \ge \approx \in; \sum \prod with bounds; \top, primes, "
    r"\infty; ( ) [ ] \{ \} | | \| \|; calls, with \mid for what is given, and \ldots in a list; "
    r"\sin \cos \tan \tanh \exp \ln \log \max \min; pmatrix, bmatrix, cases, \mathbb{R}; several "
    r"formulas separated by commas or \quad"
)


def statements(text: str, vocabulary: Vocabulary) -> list[Node]:
    """The formulas between commas or wide spaces, each a tree; a lone comma makes a list."""
    reader = _Reader(tokens_of(text, vocabulary), vocabulary)
    found = reader.statements()
    if reader.tokens.kind != "end":
        raise LatexError(f"{reader.tokens.now} stands where nothing can follow")
    return found


def expression(text: str, vocabulary: Vocabulary) -> Node:
    """The tree of one formula."""
    found = statements(text, vocabulary)
    if len(found) != 1:
        raise LatexError("this is more than one formula")
    return found[0]


class _Reader:
    def __init__(self, tokens: Tokens, vocabulary: Vocabulary) -> None:
        self.tokens, self.vocabulary = tokens, vocabulary
        self.bare = False

    def statements(self) -> list[Node]:
        tokens = self.tokens
        found: list[Node] = []
        while tokens.kind != "end":
            if tokens.skip(",", ";", ".") or tokens.kind == "wide":
                if tokens.kind == "wide":
                    tokens.next()
                continue
            found.append(self.relation())
            if tokens.kind not in ("end", "wide") and tokens.now not in (",", ";", "."):
                raise LatexError(f"{tokens.now} stands where nothing can follow")
        if not found:
            raise LatexError("there is nothing in it")
        return found

    def relation(self) -> Node:
        tokens = self.tokens
        if tokens.now == r"\text" and (label := self._label()) is not None:
            return Node("relation", "=", (label, self.sum()))
        sides, signs = [self.sum()], ""
        while tokens.now in RELATIONS and tokens.kind != "end":
            signs += RELATIONS[tokens.next()]
            sides.append(self.sum())
        return sides[0] if not signs else Node("relation", signs, tuple(sides))

    def _label(self) -> Node | None:
        r"""The name in `\text{name: }`, which says what the formula behind it is."""
        tokens, start = self.tokens, self.tokens.at
        tokens.next()
        words = self._words_in_braces()
        if words.strip()[-1:] in (":", "："):
            return Node("text", words.strip()[:-1].strip())
        tokens.at = start
        return None

    def sum(self) -> Node:
        tokens = self.tokens
        parts: list[Node] = []
        signs = ""
        while True:
            sign = "+"
            if tokens.now in ("+", "-") and tokens.kind == "sign":
                sign = tokens.next()
            elif parts:
                break
            if tokens.skip(r"\pm"):
                parts.append(Node("plusminus", "", (self.product(),)))
            else:
                parts.append(self.product())
            signs += sign
        if len(parts) > 1:
            return Node("sum", signs, tuple(parts))
        return Node("negative", "", (parts[0],)) if signs == "-" else parts[0]

    def product(self) -> Node:
        tokens = self.tokens
        parts, joins = [self.factor()], ""
        while True:
            if tokens.now in (r"\cdot", r"\times", "/", "*"):
                sign = {r"\cdot": "·", r"\times": "×", "/": "/", "*": "·"}[tokens.next()]
                joins += sign
                negative = tokens.skip("-")
                factor = self.factor()
                parts.append(Node("negative", "", (factor,)) if negative else factor)
            elif self._begins_factor():
                joins += " "
                parts.append(self.factor())
            else:
                break
        return parts[0] if not joins else Node("product", joins, tuple(parts))

    def _begins_factor(self) -> bool:
        token, kind = self.tokens.now, self.tokens.kind
        if kind in ("number", "letter"):
            return True
        if kind == "sign":
            return token in ("(", "[", "{") or token in DOTS
        closing = (r"\}", r"\|", r"\rVert", r"\mid", r"\end", r"\\", r"\pm", r"\cdot", r"\times")
        return kind == "command" and token not in RELATIONS and token not in closing

    def factor(self) -> Node:
        node = self.primary()
        return self.scripts(node)

    def scripts(self, node: Node) -> Node:
        """The node with what stands below and above it."""
        tokens = self.tokens
        above: Node | None = None
        while tokens.now in ("_", "^", "'") and tokens.kind == "sign":
            sign = tokens.next()
            if sign == "'":
                node = Node("prime", "", (node,))
            elif sign == "_":
                node = Node("sub", "", (node, self.script()))
            elif above is not None:
                raise LatexError("two superscripts on one base")
            else:
                above = self.script()
        return node if above is None else Node("power", "", (node, above))

    def script(self) -> Node:
        r"""One sign, or what stands in braces: a list `b,\,t`, a text, an expression."""
        tokens = self.tokens
        if not tokens.skip("{"):
            if tokens.kind in ("end", "wide"):
                raise LatexError("a sub- or superscript is missing")
            if tokens.kind == "letter":
                return Node("name", tokens.next())
            if tokens.kind == "number" and len(tokens.now) > 1:
                kind, text = tokens.items[tokens.at]  # x^12 is x^1 2
                tokens.items[tokens.at] = (kind, text[1:])
                return Node("number", text[0])
            self.bare, before = True, self.bare  # in W_\text{in}^\top the ⊤ is the W's
            node = self.primary()
            self.bare = before
            return node
        self.bare, before = False, self.bare
        items = self.arguments("}")
        self.bare = before
        return items[0] if len(items) == 1 else Node("list", "", tuple(items))

    def arguments(self, end: str) -> list[Node]:
        """What stands between commas, up to `end`."""
        tokens, found = self.tokens, [self.argument()]
        while tokens.skip(","):
            found.append(self.argument())
        if end == ")" and tokens.skip("]"):
            raise LatexError("a ( is closed by ]")
        tokens.expect(end, {")": "a (", "]": "a [", "}": "a {"}.get(end, "a bracket"))
        return found

    def argument(self) -> Node:
        tokens = self.tokens
        if tokens.now == r"\cdot":
            tokens.next()
            return HOLE
        if tokens.now in ("=", "<", ">"):
            raise LatexError(f"{tokens.now} has nothing on its left")
        return self.relation()

    def primary(self) -> Node:
        tokens = self.tokens
        kind, token = tokens.kind, tokens.now
        if kind in ("end", "wide"):
            raise LatexError("the formula breaks off")
        tokens.next()
        if kind == "number":
            return Node("number", token)
        if kind == "letter":
            return self.called(Node("name", token))
        if token in DOTS:
            return Node("dots")
        if token in ("(", "["):
            inner = self.arguments(")" if token == "(" else "]")
            return inner[0] if len(inner) == 1 else Node("list", "", tuple(inner))
        if token == "{":
            inner = self.arguments("}")
            return inner[0] if len(inner) == 1 else Node("list", "", tuple(inner))
        if token == r"\{":
            return Node("list", "", tuple(self.arguments(r"\}")))
        if token in ("|", r"\|", r"\lVert"):
            end = {r"\lVert": r"\rVert"}.get(token, token)
            node = self.sum()
            tokens.expect(end, f"a {token}")
            return Node("size" if token == "|" else "norm", "", (node,))
        if kind == "command":
            return self.command(token)
        raise LatexError(f"{token} stands where a number or a name is expected")

    def command(self, token: str) -> Node:
        tokens, name = self.tokens, token[1:]
        if name in ("frac", "dfrac", "tfrac"):
            above, below = self.group(), self.group()
            return Node("product", "/", (above, below))
        if name == "sqrt":
            degree: tuple[Node, ...] = ()
            if tokens.skip("["):
                degree = tuple(self.arguments("]"))
            return Node("root", "", (self.group(), *degree))
        if name in ("text", "mathrm", "textbf", "mbox"):
            return self.called(Node("text", self._words_in_braces().strip()))
        if name == "operatorname":
            word = self._words_in_braces().strip()
            return self.called(Node("text", word), always=True)
        if name == "mathbb":
            return Node("text", {"R": "ℝ"}.get(self._words_in_braces(), "?"))
        if token in STYLES:
            return self.called(self.group())
        if name in FUNCTIONS:
            return self.applied(Node("name", name))
        if GREEK.fullmatch(token):
            return self.called(Node("name", token))
        if name in ("sum", "prod"):
            return self.big(name)
        if name == "begin":
            return self.environment()
        if token in SIGNS:
            return Node("sign", token)
        if name == "pm":
            return Node("plusminus", "", (self.factor(),))
        raise LatexError(f"{token} is not known")

    def group(self) -> Node:
        """What stands in braces, or one sign."""
        if self.tokens.skip("{"):
            node = self.argument()
            self.tokens.expect("}", "a {")
            return node
        return self.script()

    def _words_in_braces(self) -> str:
        """Letters between braces, put together again."""
        tokens, words = self.tokens, ""
        if not tokens.skip("{"):
            return tokens.next()
        while tokens.kind != "end" and tokens.now != "}":
            words += tokens.next()
        tokens.expect("}", "a {")
        return words

    def called(self, node: Node, always: bool = False) -> Node:
        """The node, or its call when it is a function and brackets follow."""
        tokens = self.tokens
        if self.bare:
            return node
        node = self.scripts(node)
        base = node
        while base.kind in ("sub", "prime", "power"):
            base = base.parts[0]
        if tokens.now == "(" and (always or base.text in self.vocabulary.functions):
            tokens.next()
            return self._call(node)
        return node

    def _call(self, function: Node) -> Node:
        tokens = self.tokens
        arguments = [self.argument()]
        given: list[Node] = []
        where = arguments
        while tokens.now in (",", r"\mid", "|"):
            if tokens.next() != ",":
                where = given
            where.append(self.argument())
        tokens.expect(")", "a (")
        return Node("call", str(len(arguments)), (function, *arguments, *given))

    def applied(self, function: Node) -> Node:
        r"""`\sin(x)`, `\ln w_j`, `\sin^2 x`: without brackets, up to the next sign."""
        tokens = self.tokens
        power: Node | None = None
        if tokens.skip("_"):
            function = Node("sub", "", (function, self.script()))
        if tokens.skip("^"):
            power = self.script()
        if tokens.skip("("):
            node = self._call(function)
        else:
            if not self._begins_factor():
                return function
            parts = [self.factor()]
            while self._begins_factor() and tokens.now[1:] not in FUNCTIONS and tokens.now != "(":
                parts.append(self.factor())
            inner = Node("product", " " * (len(parts) - 1), tuple(parts))
            node = Node("call", "1", (function, parts[0] if len(parts) == 1 else inner))
        return node if power is None else Node("power", "", (node, power))

    def big(self, name: str) -> Node:
        tokens = self.tokens
        variable, start, end = HOLE, HOLE, HOLE
        while tokens.now in ("_", "^"):
            if tokens.next() == "^":
                end = self.script()
                continue
            below = self.script()
            if below.kind == "relation" and below.text == "=":
                variable, start = below.parts
            else:
                variable = below
        if not self._begins_factor():
            return Node("sign", f"\\{name}")
        return Node("big", name, (variable, start, end, self.product()))

    def condition(self) -> Node:
        r"""`\text{if } x > 0`, or `\text{otherwise}`."""
        self.tokens.next()
        self._words_in_braces()
        closed = self.tokens.kind == "end" or self.tokens.now in (r"\\", r"\end")
        return Node("text", "otherwise") if closed else self.relation()

    def environment(self) -> Node:
        tokens = self.tokens
        name = self._words_in_braces()
        if name not in MATRICES and name != "cases":
            raise LatexError(f"\\begin{{{name}}} is not known")
        rows: list[list[Node]] = [[]]
        while tokens.now != r"\end":
            if tokens.kind == "end":
                raise LatexError(f"\\begin{{{name}}} has no \\end")
            if tokens.skip(r"\\"):
                rows.append([])
            elif not tokens.skip("&"):
                is_condition = name == "cases" and tokens.now == r"\text" and len(rows[-1]) == 1
                rows[-1].append(self.condition() if is_condition else self.relation())
        tokens.next()
        if self._words_in_braces() != name:
            raise LatexError(f"\\begin{{{name}}} ends as something else")
        rows = [row for row in rows if row]
        if not rows or len({len(row) for row in rows}) != 1:
            raise LatexError(f"the rows of {name} are not of one length")
        parts = tuple(part for row in rows for part in row)
        return Node("cases" if name == "cases" else "matrix", str(len(rows[0])), parts)
