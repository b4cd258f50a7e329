"""JSONPath (RFC 9535): a parser whose result is a function from a document to the first match. Pure.

A query is a chain of segments. Each segment maps a list of nodes to a list of nodes: `.name` and `[selectors]` to children, `..` to
children of all descendants. Selectors are names, indexes, slices, `*` and filters `?expression`. An expression compares values,
tests whether a query has nodes, or calls `length`, `count`, `value`, `match` and `search`; `&&`, `||`, `!` join them.

Documents and queries may be hostile (claims of a token, an option in the database), so a query has at most 1,000 characters,
20 levels and 10,000 visited nodes, and patterns are those of `pattern_of`. Beyond RFC 9535: the comparisons `^==` (begins with),
`==^` (ends with) and `*==` (contains) of texts, and `^` and `$` in patterns.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NoReturn

_LONGEST = 1000
_DEEPEST = 20
_MOST_NODES = 10_000
_LONGEST_SUBJECT = 128
"""Characters of a text that a pattern is compared with: roles have at most 63 bytes."""
_MOST_QUANTIFIERS = 2
_MOST_CHOICES = 8
NOTHING = object()
"""The value of a singular query without a node, and of a function that has none."""

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}")
_NUMBER = re.compile(r"(?:-?(?:0|[1-9][0-9]*))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TEXT = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", "'": "'", '"': '"'}
_BLANKS = re.compile(r"[ \t\r\n]*")
_OPERATOR = re.compile(r"\^==|==\^|\*==|==|!=|<=|>=|<|>")
_QUANTIFIER = re.compile(r"[*+?]|\{\d")
_UNQUANTIFIED = re.compile(r"\\.|\[\^?\]?[^]]*\]|\(\?[:=!]", re.DOTALL)
"""Parts of a pattern in which no character is a quantifier."""

Values = Callable[[Any, "_Budget"], Any]
Nodes = Callable[[Any, "_Budget"], Iterator[Any]]
"""From the current node to a value or to nodes."""


class _Budget:
    """The document and the nodes that may still be visited."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.left = _MOST_NODES

    def visit(self) -> bool:
        self.left -= 1
        return self.left >= 0


def compile_json_path(text: str) -> Callable[[Any], Any]:
    """Return a function that returns the first match of a query in a document, or None. Raises: ValueError."""
    parser = _Parser(text)
    query, _ = parser.query()
    parser.end()
    return lambda document: next(query(document, _Budget(document)), None)


def pattern_of(text: str) -> re.Pattern[str]:
    """Compile a pattern that cannot take long: two quantifiers, none of them on a group, and eight choices. Raises: ValueError."""
    plain = _UNQUANTIFIED.sub("x", text)
    if len(_QUANTIFIER.findall(plain)) > _MOST_QUANTIFIERS or plain.count("|") > _MOST_CHOICES:
        raise ValueError(
            f"a pattern has at most {_MOST_QUANTIFIERS} quantifiers and {_MOST_CHOICES} choices: {text}"
        )
    if re.search(r"\)(?:[*+?]|\{)", plain):
        raise ValueError(f"a group of a pattern has no quantifier: {text}")
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a pattern: {text} ({error})") from None


class _Parser:
    """A recursive descent over the text; `depth` counts filters and parentheses."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        if len(text) > _LONGEST:
            self.fail()

    def fail(self) -> NoReturn:
        raise ValueError(f"no JSON path: {self.text[:_LONGEST]}")

    def skip(self, token: str) -> bool:
        """Return whether the token is next, behind blanks, and pass it."""
        self.blanks()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def need(self, token: str) -> None:
        if not self.skip(token):
            self.fail()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def blanks(self) -> None:
        self.match(_BLANKS)

    def end(self) -> None:
        if self.at != len(self.text):
            self.fail()

    def query(self) -> tuple[Nodes, bool]:
        """Parse `$...` or `@...`; return it, and whether it has one node at most."""
        is_relative = self.skip("@")
        if not is_relative:
            self.need("$")
        nodes: Nodes = (
            (lambda node, budget: iter((node,)))
            if is_relative
            else (lambda node, budget: iter((budget.root,)))
        )
        is_singular = True
        while True:
            here = self.at
            self.blanks()
            if self.text.startswith("..", self.at):
                self.at += 2
                segment = self.brackets()[0] if self.text.startswith("[", self.at) else self.shorthand()[0]
                nodes, is_singular = _chained(_chained(nodes, _descendants), segment), False
            elif self.text.startswith(".", self.at):
                self.at += 1
                segment, is_one = self.shorthand()
                nodes, is_singular = _chained(nodes, segment), is_singular and is_one
            elif self.text.startswith("[", self.at):
                segment, is_one = self.brackets()
                nodes, is_singular = _chained(nodes, segment), is_singular and is_one
            else:
                self.at = here
                return nodes, is_singular

    def shorthand(self) -> tuple[Nodes, bool]:
        if self.text.startswith("*", self.at):
            self.at += 1
            return _children, False
        name = self.match(_NAME) or self.fail()
        return _member(name[0]), True

    def brackets(self) -> tuple[Nodes, bool]:
        self.need("[")
        selectors = [self.selector()]
        while self.skip(","):
            selectors.append(self.selector())
        self.need("]")
        if len(selectors) == 1:
            return selectors[0]
        parts = [part for part, _ in selectors]
        return (lambda node, budget: (found for part in parts for found in part(node, budget))), False

    def selector(self) -> tuple[Nodes, bool]:
        self.blanks()
        if self.skip("*"):
            return _children, False
        if self.skip("?"):
            test = self.alternatives()
            return (
                lambda node, budget: (child for child in _children(node, budget) if test(child, budget))
            ), False
        if (text := self.literal_text()) is not None:
            return _member(text), True
        start = self.match(_INTEGER)
        if not self.skip(":"):
            return _element(int(start[0] if start else self.fail())), True
        bounds: list[int | None] = [int(start[0]) if start else None]
        self.blanks()
        stop = self.match(_INTEGER)
        bounds.append(int(stop[0]) if stop else None)
        if self.skip(":"):
            self.blanks()
            step = self.match(_INTEGER)
            bounds.append(int(step[0]) if step else None)
        return _slice(slice(*bounds)), False

    def literal_text(self) -> str | None:
        found = self.match(_TEXT)
        return (
            None
            if found is None
            else _ESCAPE.sub(self._unescaped, found[1] if found[1] is not None else found[2])
        )

    def _unescaped(self, found: re.Match[str]) -> str:
        if found[1][0] == "u" and len(found[1]) == 5:
            return chr(int(found[1][1:], 16))
        return _ESCAPES.get(found[1]) or self.fail()

    def alternatives(self) -> Values:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail()
        parts = [self.conjunction()]
        while self.skip("||"):
            parts.append(self.conjunction())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else lambda node, budget: any(part(node, budget) for part in parts)

    def conjunction(self) -> Values:
        parts = [self.basic()]
        while self.skip("&&"):
            parts.append(self.basic())
        return parts[0] if len(parts) == 1 else lambda node, budget: all(part(node, budget) for part in parts)

    def basic(self) -> Values:
        self.blanks()
        is_negated = not self.text.startswith("!=", self.at) and self.skip("!")
        if self.skip("("):
            test = self.alternatives()
            self.need(")")
        else:
            test = self.comparison(is_negated=is_negated)
        return (lambda node, budget: not test(node, budget)) if is_negated else test

    def comparison(self, *, is_negated: bool) -> Values:
        left, is_test = self.operand(is_compared=False)
        self.blanks()
        operator = self.match(_OPERATOR)
        if operator is None:
            return left if is_test else self.fail()
        if is_test or is_negated:
            self.fail()
        right, compare = self.value(), _COMPARISONS[operator[0]]
        return lambda node, budget: compare(left(node, budget), right(node, budget))

    def value(self) -> Values:
        """Parse one side of a comparison, or an argument."""
        operand, is_test = self.operand(is_compared=True)
        return self.fail() if is_test else operand

    def operand(self, *, is_compared: bool) -> tuple[Values, bool]:
        """Parse a value or a test; return whether it is a test. A query is a value where it is compared or an operator follows."""
        self.blanks()
        if self.text[self.at : self.at + 1] in ("@", "$"):
            nodes, is_singular = self.query()
            follows = _OPERATOR.match(self.text, _BLANKS.match(self.text, self.at).end())  # type: ignore[union-attr]  # it may be empty
            if is_compared or follows:
                return (lambda node, budget: next(nodes(node, budget), NOTHING)), not is_singular
            return (lambda node, budget: next(nodes(node, budget), NOTHING) is not NOTHING), True
        if (text := self.literal_text()) is not None:
            return _constant(text), False
        for name, value in (("true", True), ("false", False), ("null", None)):
            if self.skip(name):
                return _constant(value), False
        if number := self.match(_NUMBER):
            return _constant(float(number[0])), False
        return self.call()

    def call(self) -> tuple[Values, bool]:
        name = (self.match(_NAME) or self.fail())[0]
        self.need("(")
        match name:
            case "length":
                argument = self.value()
                self.need(")")
                return (lambda node, budget: _length(argument(node, budget))), False
            case "count" | "value":
                nodes, _ = self.query()
                self.need(")")
                function = _count if name == "count" else _only
                return (lambda node, budget: function(nodes(node, budget))), False
            case "match" | "search":
                return self.pattern_test(name), True
            case _:
                self.fail()

    def pattern_test(self, name: str) -> Values:
        subject = self.value()
        self.need(",")
        self.blanks()
        text = self.literal_text()
        self.need(")")
        pattern = pattern_of(self.fail() if text is None else text)
        test = pattern.fullmatch if name == "match" else pattern.search

        def is_match(node: Any, budget: _Budget) -> bool:
            value = subject(node, budget)
            return isinstance(value, str) and len(value) <= _LONGEST_SUBJECT and test(value) is not None

        return is_match


def _chained(first: Nodes, then: Nodes) -> Nodes:
    return lambda node, budget: (found for middle in first(node, budget) for found in then(middle, budget))


def _constant(value: object) -> Values:
    return lambda node, budget: value


def _member(name: str) -> Nodes:
    return lambda node, budget: iter(
        (node[name],) if isinstance(node, dict) and name in node and budget.visit() else ()
    )


def _element(index: int) -> Nodes:
    return lambda node, budget: iter(
        (node[index],)
        if isinstance(node, list) and -len(node) <= index < len(node) and budget.visit()
        else ()
    )


def _slice(bounds: slice) -> Nodes:
    def elements(node: Any, budget: _Budget) -> Iterator[Any]:
        if isinstance(node, list) and bounds.step != 0:
            yield from (child for child in node[bounds] if budget.visit())

    return elements


def _children(node: Any, budget: _Budget) -> Iterator[Any]:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return (child for child in children if budget.visit())


def _descendants(node: Any, budget: _Budget) -> Iterator[Any]:
    """Return the node and what is below it, depth first. Without recursion: documents may be deep."""
    waiting = [iter((node,))]
    while waiting:
        for found in waiting[-1]:
            yield found
            waiting.append(_children(found, budget))
            break
        else:
            waiting.pop()


def _length(value: Any) -> object:
    return float(len(value)) if isinstance(value, str | list | dict) else NOTHING


def _count(nodes: Iterator[Any]) -> object:
    return float(sum(1 for _ in nodes))


def _only(nodes: Iterator[Any]) -> object:
    values = list(islice(nodes, 2))
    return values[0] if len(values) == 1 else NOTHING


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _is_less(left: Any, right: Any) -> bool:
    both_texts = isinstance(left, str) and isinstance(right, str)
    both_numbers = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right))
    return bool((both_texts or both_numbers) and left < right)


def _of_texts(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: isinstance(left, str) and isinstance(right, str) and test(left, right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _is_equal,
    "!=": lambda left, right: not _is_equal(left, right),
    "<": _is_less,
    ">": lambda left, right: _is_less(right, left),
    "<=": lambda left, right: _is_less(left, right) or _is_equal(left, right),
    ">=": lambda left, right: _is_less(right, left) or _is_equal(left, right),
    "^==": _of_texts(str.startswith),
    "==^": _of_texts(str.endswith),
    "*==": _of_texts(str.__contains__),
}
