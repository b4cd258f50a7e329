"""Nodes and values -> text. Unknown variables are empty. The only error is a result that exceeds the limits of size and steps."""

from collections.abc import Iterator, Mapping

from workers.auth.delivery.gotext.functions import (
    FUNCTIONS,
    SHORT_CIRCUIT,
    field_of,
    is_list,
    is_true,
    text_of,
)
from workers.auth.delivery.gotext.html_context import escape
from workers.auth.delivery.gotext.nodes import (
    CallTerm,
    FieldTerm,
    IfNode,
    LiteralTerm,
    NestedTerm,
    Node,
    OutputNode,
    RangeNode,
    TemplatePipeline,
    TemplateText,
    Term,
)

_MOST_STEPS = 20_000
_MOST_CHARACTERS = 2 * 1024 * 1024


class ResultTooLong(Exception):
    """The result is longer than an email may be, or takes too many steps."""


def render(nodes: tuple[Node, ...], values: Mapping[str, object], *, is_html: bool) -> str:
    """Render a template with values. Raises: ResultTooLong."""
    writer = _Writer(is_html)
    writer.write(nodes, values, _Scope({"": values}))
    return "".join(writer.parts)


class _Scope:
    """Variables of a block; a look-up goes on in the enclosing blocks."""

    def __init__(self, variables: dict[str, object], outer: "_Scope | None" = None) -> None:
        self._variables = variables
        self._outer = outer

    def inner(self) -> "_Scope":
        return _Scope({}, self)

    def get(self, name: str) -> object:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope._variables:
                return scope._variables[name]
            scope = scope._outer
        return None

    def set(self, name: str, value: object, *, declares: bool) -> None:
        scope: _Scope | None = self
        while scope is not None and not declares:
            if name in scope._variables:
                scope._variables[name] = value
                return
            scope = scope._outer
        self._variables[name] = value


class _Writer:
    """The text written so far, and the steps and characters that are left."""

    def __init__(self, is_html: bool) -> None:
        self.parts: list[str] = []
        self._is_html = is_html
        self._steps = _MOST_STEPS
        self._room = _MOST_CHARACTERS

    def write(self, nodes: tuple[Node, ...], dot: object, scope: _Scope) -> None:
        for node in nodes:
            self._steps -= 1
            if self._steps < 0:
                raise ResultTooLong
            match node:
                case TemplateText(text):
                    self._put(text)
                case OutputNode(pipe, place):
                    value = self._value(pipe, dot, scope)
                    if not pipe.assigns:
                        text = text_of(value)
                        self._put(escape(text, place) if self._is_html else text)
                case IfNode(pipe, then, otherwise, binds_dot):
                    inner = scope.inner()
                    value = self._value(pipe, dot, inner)
                    if is_true(value):
                        self.write(then, value if binds_dot else dot, inner)
                    else:
                        self.write(otherwise, dot, inner)
                case RangeNode():
                    self._range(node, dot, scope)

    def _put(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise ResultTooLong
        self.parts.append(text)

    def _range(self, node: RangeNode, dot: object, scope: _Scope) -> None:
        pipe, is_empty = node.pipe, True
        for key, value in _elements(self._value(TemplatePipeline(pipe.commands), dot, scope)):
            is_empty = False
            inner = scope.inner()
            for name, part in zip(
                pipe.assigns, (key, value) if len(pipe.assigns) > 1 else (value,), strict=False
            ):
                inner.set(name, part, declares=pipe.declares)
            self.write(node.body, value, inner)
            self._steps -= 1
            if self._steps < 0:
                raise ResultTooLong
        if is_empty:
            self.write(node.otherwise, dot, scope.inner())

    def _value(self, pipe: TemplatePipeline, dot: object, scope: _Scope) -> object:
        value = self._term(pipe.commands[0], dot, scope)
        for command in pipe.commands[1:]:
            value = self._term(command, dot, scope, (value,))
        for name in pipe.assigns:
            scope.set(name, value, declares=pipe.declares)
        return value

    def _term(self, term: Term, dot: object, scope: _Scope, last: tuple[object, ...] = ()) -> object:
        match term:
            case LiteralTerm(value):
                return value
            case FieldTerm(None, names):
                return _chain(dot, names)
            case FieldTerm(str(variable), names):
                return _chain(scope.get(variable), names)
            case NestedTerm(pipe, names):
                return _chain(self._value(pipe, dot, scope), names)
            case CallTerm(function, arguments) if function in SHORT_CIRCUIT:
                return self._until(SHORT_CIRCUIT[function], arguments, dot, scope, last)
            case CallTerm(function, arguments):
                values = [self._term(argument, dot, scope) for argument in arguments]
                value = FUNCTIONS[function][0](*values, *last)
                self._check_size(value)
                return value
        return None

    def _until(
        self, stops_at: bool, terms: tuple[Term, ...], dot: object, scope: _Scope, last: tuple[object, ...]
    ) -> object:
        value: object = None
        for term in terms:
            value = self._term(term, dot, scope)
            if is_true(value) is stops_at:
                return value
        return last[0] if last else value

    def _check_size(self, value: object) -> None:
        """Raise if a computed text exceeds the remaining characters: it could double with each step."""
        if isinstance(value, str) and len(value) > self._room:
            raise ResultTooLong


def _chain(value: object, names: tuple[str, ...]) -> object:
    for name in names:
        value = field_of(value, name)
    return value


def _elements(value: object) -> Iterator[tuple[object, object]]:
    if isinstance(value, Mapping):
        yield from ((key, value[key]) for key in sorted(value, key=str))
    elif is_list(value):
        yield from enumerate(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from ((number, number) for number in range(value))
