"""Faults that can be made in a module of Python, each in one place of its text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """A replacement in a text: characters `start` to `end` become `text`."""

    kind: str
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        """Return the text with the fault in it."""
        return source[: self.start] + self.text + source[self.end :]


_COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip
_LOGS = ("log", "observe", "warning", "debug", "info")
"""Calls whose loss changes nothing but a line of a log."""


def python_faults(source: str) -> list[Fault]:
    """Return the faults that can be made inside the functions of a module."""
    tree = ast.parse(source)
    places = _TextOffsets(source)
    return [
        fault
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in _body_of(function)
        for fault in _faults_of(node, places)
    ]


class _TextOffsets:
    """Offsets in a text, of positions that `ast` gives in UTF-8 octets of a line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, octets: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:octets].decode())


def _body_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function that no function inside of it yields, without annotations and docstrings."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _faults_of(node: ast.AST, places: _TextOffsets) -> Iterator[Fault]:
    def replaced(kind: str, old: ast.expr | ast.stmt, text: str) -> Fault:
        return Fault(kind, places.start(old), places.end(old), text)

    match node:
        case ast.Compare(left=left, ops=[operator], comparators=right) if type(operator) in _COMPARISONS:
            other = ast.Compare(left, [_COMPARISONS[type(operator)]()], right)
            yield replaced("comparison", node, f"({ast.unparse(other)})")
        case ast.BoolOp(op=operator, values=values):
            other = ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            yield replaced("and/or", node, f"({ast.unparse(other)})")
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            other = ast.BinOp(left, _ARITHMETIC[type(operator)](), right)
            yield replaced("arithmetic", node, f"({ast.unparse(other)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield replaced("dropped not", node, f"({ast.unparse(operand)})")
        case ast.Constant(value=bool(value)):
            yield replaced("constant", node, str(not value))
        case ast.Constant(value=int(value)):
            yield replaced("constant", node, f"({value} + 1)")
        case ast.Expr(value=ast.Call() | ast.Await() as call) if not _only_logs(call):
            yield replaced("dropped call", node, "pass")
        case ast.If(test=test):
            yield replaced("condition", test, "(False)")
            yield replaced("condition", test, "(True)")
        case ast.Raise():
            yield replaced("dropped raise", node, "pass")
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield replaced("returned None", value, "(None)")
        case ast.Call(func=function, args=[first, second, *more], keywords=keywords) if not isinstance(
            first, ast.Starred | ast.Constant
        ) and not isinstance(second, ast.Starred):
            other = ast.Call(function, [second, first, *more], keywords)
            yield replaced("swapped arguments", node, ast.unparse(other))


def _only_logs(call: ast.expr) -> bool:
    function = call.func if isinstance(call, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.startswith(_LOGS)
