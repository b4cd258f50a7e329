"""Argument values, and the cache key of plans: what a plan depends on in the variables.

An argument is a literal, a variable, or a literal with variables in it; `ArgumentValue` hides which. To be reused for
other values, a plan depends only on the *shape* of the variables: absent, null, scalar, a list with elements of which
shapes, an object with which keys. Scalars become slots, which are filled for each request.

Where a plan must know more of a value (the direction of `orderBy`, the condition of `@include`, the number of elements
of a list), it asks a *question*: a function of the value. `PlanDependencies` records path and function. The cache key of
the plan is the shape of the variables plus the answers to all recorded questions (`role._plan_key`). The danger is a
plan that uses a value without a recorded question: it would be reused for requests with another value. So code outside
this module reads values only through the methods of `ArgumentValue`.
Source: docs/reference/graphql.md, sections 11 and 18.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import msgspec
from graphql.language import (
    BooleanValueNode,
    EnumValueNode,
    FloatValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from schemas.numbers import parse_whole_number
from workers.graphql.errors import GraphQLFailure
from workers.sql.compose import Param, ParameterSlot

Path = tuple[str | int, ...]
"""Path of a value inside the variables: name of the variable, then keys and indexes."""
Convert = Callable[[object], str]
"""Converts a scalar or list to the text of a parameter. Raises: GraphQLFailure for a value of the wrong type."""
T = TypeVar("T")

_MOST_QUESTIONS = 64
_DEEPEST = 40
_LONGEST_NUMBER = 60
_FARTHEST = 10**_LONGEST_NUMBER
SIMPLE = frozenset({str, int})
"""Types of the most frequent scalars; for them no function is called."""


class EnumLiteral(str):
    """An enum value written as a literal in the document: a name, as opposed to a string."""

    __slots__ = ()


class InputKind(Enum):
    """Kinds of values, absence among them."""

    ABSENT = "absent"
    NULL = "null"
    SCALAR = "scalar"
    LIST = "list"
    OBJECT = "object"


class _AbsentValue:
    """Type of `ABSENT`, the placeholder for a variable without a value."""


ABSENT = _AbsentValue()


@dataclass(frozen=True, slots=True)
class SlotReader:
    """How a slot is filled: the path of its value in the variables, and the conversion to text."""

    path: Path
    convert: Convert


@dataclass(slots=True)
class PlanDependencies:
    """Questions about variables whose answers the plans of one operation depend on: pairs (path, function of the value)."""

    questions: list[tuple[Path, Callable[[object], object]]] = field(default_factory=list)
    is_full: bool = False
    """More than `_MOST_QUESTIONS` were recorded: plans of the operation are not cached."""

    def add(self, path: Path, question: Callable[[object], object]) -> None:
        """Record a question, if it is not recorded already."""
        if (path, question) in self.questions:
            return
        if len(self.questions) >= _MOST_QUESTIONS:
            self.is_full = True
        else:
            self.questions.append((path, question))

    def answers(self, variables: Mapping[str, object]) -> tuple[object, ...]:
        """Return the answers for the variables of a request, as a part of the plan's cache key."""
        answers = []
        for path, question in self.questions:
            current: Any = variables
            try:
                for step in path:
                    current = current[step]
            except (LookupError, TypeError):
                current = ABSENT
            answers.append(question(current))
        return tuple(answers)


class ArgumentValue:
    """The value of an argument or of a part of it. `path`: where it is in the variables; None for a literal."""

    __slots__ = ("_dependencies", "kind", "path", "value")

    def __init__(
        self, value: object, path: Path | None = None, dependencies: PlanDependencies | None = None
    ) -> None:
        self.value, self.path, self._dependencies = value, path, dependencies
        self.kind = kind_of(value)

    @property
    def is_missing(self) -> bool:
        """Return whether the value is absent or null."""
        return self.kind is InputKind.ABSENT or self.kind is InputKind.NULL

    def entries(self) -> dict[str, "ArgumentValue"]:
        """Return the entries of an object. The keys of a variable are part of its shape, so no question is recorded."""
        assert isinstance(self.value, dict)
        if self.path is None:
            return self.value
        return {key: self._below(key, value) for key, value in self.value.items()}

    def elements(self) -> list["ArgumentValue"]:
        """Return the elements of a list. For a variable their number and shapes become part of the cache key."""
        assert isinstance(self.value, list)
        if self.path is None:
            return self.value
        self._record(element_shapes)
        return [self._below(index, value) for index, value in enumerate(self.value)]

    def as_list(self) -> list["ArgumentValue"]:
        """Return the elements of a list, or a single value as a list of one."""
        return self.elements() if self.kind is InputKind.LIST else [self]

    def steering_value(self) -> object:
        """Return the value itself, which becomes part of the cache key."""
        self._record(typed_value)
        return self.plain()

    def evaluate(self, question: Callable[[object], T]) -> T:
        """Return the answer to a question about the value; it becomes part of the cache key."""
        self._record(question)
        return question(self.plain())

    def resolved(self) -> object:
        """Return a literal with the values of all variables in it; they become part of the cache key."""
        if self.path is not None:
            self._record(as_json)
        elif isinstance(self.value, list):
            for child in self.value:
                child.resolved()
        elif isinstance(self.value, dict):
            for child in self.value.values():
                child.resolved()
        return self.plain()

    def plain(self) -> object:
        """Return the value as plain data, without recording a question; absent variables inside lists become null."""
        if self.path is not None or isinstance(self.value, _AbsentValue):
            return self.value
        if isinstance(self.value, list):
            return [None if child.kind is InputKind.ABSENT else child.plain() for child in self.value]
        if isinstance(self.value, dict):
            return {
                key: child.plain() for key, child in self.value.items() if child.kind is not InputKind.ABSENT
            }
        return self.value

    def _below(self, key: str | int, value: object) -> "ArgumentValue":
        assert self.path is not None
        if len(self.path) > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        return ArgumentValue(value, (*self.path, key), self._dependencies)

    def _record(self, question: Callable[[object], object]) -> None:
        if self.path is not None and self._dependencies is not None:
            self._dependencies.add(self.path, question)


class Inputs:
    """The variables of one operation while it is planned, and the slots of the plan."""

    def __init__(
        self,
        variables: Mapping[str, object],
        defaults: Mapping[str, ValueNode | None],
        dependencies: PlanDependencies,
    ) -> None:
        self._variables, self._defaults, self._dependencies = variables, defaults, dependencies
        self.readers: list[SlotReader] = []

    def value_of(self, node: ValueNode) -> ArgumentValue:
        """Return the value of a node of the document. Raises: GraphQLFailure for a number that is too long."""
        match node:
            case VariableNode():
                return self._variable(node.name.value)
            case NullValueNode():
                return ArgumentValue(None)
            case ListValueNode():
                return ArgumentValue([self.value_of(child) for child in node.values or ()])
            case ObjectValueNode():
                return ArgumentValue(
                    {child.name.value: self.value_of(child.value) for child in node.fields or ()}
                )
        return ArgumentValue(_literal(node))

    def parameter(self, value: ArgumentValue, convert: Convert) -> Param:
        """Return the parameter for a scalar or a list. Raises: GraphQLFailure if it is of the wrong type."""
        if value.kind is InputKind.NULL:
            return None
        if value.path is None:
            return convert(value.resolved()).encode()
        convert(value.value)  # report a wrong type now, at the right root field
        self.readers.append(SlotReader(value.path, convert))
        return ParameterSlot(len(self.readers) - 1)

    def _variable(self, name: str) -> ArgumentValue:
        if name in self._variables:
            return ArgumentValue(self._variables[name], (name,), self._dependencies)
        default = self._defaults.get(name)
        return ABSENT_ARGUMENT if default is None else self.value_of(default)


def kind_of(value: object) -> InputKind:
    """Return the kind of a value."""
    if value is None:
        return InputKind.NULL
    if isinstance(value, list):
        return InputKind.LIST
    if isinstance(value, dict):
        return InputKind.OBJECT
    return InputKind.ABSENT if value is ABSENT else InputKind.SCALAR


ABSENT_ARGUMENT = ArgumentValue(ABSENT)
"""The value of an absent argument."""


def shape(value: object, depth: int = 0) -> object:
    """Return the shape of a variable's value. The shape of a list is the set of its elements' shapes, whatever their number.

    Hot path: called for the variables of every request. Raises: GraphQLFailure for a value that is nested too deeply.
    """
    kind = type(value)
    if kind is dict:
        if depth > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        below = depth + 1
        return (*value, *[True if type(child) in SIMPLE else shape(child, below) for child in value.values()])  # type: ignore[misc, attr-defined]  # it is a dict
    if kind is list:
        if depth > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        return frozenset([shape(child, depth + 1) for child in value])  # type: ignore[attr-defined]  # it is a list
    return value is not None


def element_shapes(value: object) -> object:
    """Return the shape of each element of a list; lists inside the elements need questions of their own."""
    return tuple([shape(element) for element in value]) if isinstance(value, list) else None


def typed_value(value: object) -> object:
    """Return a scalar with its type, so that 1, 1.0 and true differ. The question for values that decide what is planned."""
    kind = type(value)
    return kind if kind is list or kind is dict else (kind, value)


def as_json(value: object) -> object:
    """Return a value as JSON. The question for variables inside literals."""
    return None if value is ABSENT else msgspec.json.encode(value)


def value_at(variables: Mapping[str, object], path: Path) -> object:
    """Return the value at a path of the variables; ABSENT if the path does not exist."""
    value: Any = variables
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return ABSENT
    return value


def _literal(node: ValueNode) -> object:
    match node:
        case StringValueNode():
            return node.value
        case BooleanValueNode():
            return node.value
        case EnumValueNode():
            return EnumLiteral(node.value)
        case IntValueNode() if (
            number := parse_whole_number(node.value, least=-_FARTHEST, most=_FARTHEST)
        ) is not None:
            return number
        case FloatValueNode() if len(node.value) <= _LONGEST_NUMBER:
            with contextlib.suppress(msgspec.ValidationError):  # an exponent beyond a double's, as in 1e400
                return msgspec.json.decode(node.value)
    raise GraphQLFailure("A number has too many digits")
