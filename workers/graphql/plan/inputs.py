"""Values that a document is given, and what a plan learned from them, so that it can be kept.

An argument is a literal, a variable, or a literal with variables in it: a `Given` hides which. A plan is made of the
*shape* of what variables hold: absent, null, a scalar, a list of what, an object with which keys. Scalars themselves
become slots that are filled for each request. Where a plan must know more (a direction to order by, the value of
`@include`), it asks `learn`, and what it asked for becomes part of the key under which it is kept (`Lessons`).
Source: reference page "graphql", sections 11 and 18.
"""

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
"""A place inside the variables: the name of one, then keys and indexes."""
Convert = Callable[[object], str]
"""Turns a scalar or list into the text of a parameter. Raises: GraphQLFailure for one of the wrong type."""
T = TypeVar("T")

_MOST_LESSONS = 64
_DEEPEST = 40
_LONGEST_NUMBER = 60
_FARTHEST = 10**_LONGEST_NUMBER
SIMPLE = frozenset({str, int})
"""The commonest scalars, known without a call."""


class Word(str):
    """An enum value written as a literal: a name, no string."""

    __slots__ = ()


class Kind(Enum):
    """What stands in a place."""

    ABSENT = "absent"
    NULL = "null"
    SCALAR = "scalar"
    LIST = "list"
    OBJECT = "object"


class _Absent:
    """Stands where a variable has no value."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Reader:
    """Where the value of a slot comes from."""

    path: Path
    convert: Convert


@dataclass(slots=True)
class Lessons:
    """What plans of one operation had to know of the variables besides their shape: places, and what was asked there."""

    asked: list[tuple[Path, Callable[[object], object]]] = field(default_factory=list)
    is_overfull: bool = False
    """So much was asked that no plan of the operation is kept."""

    def add(self, path: Path, question: Callable[[object], object]) -> None:
        """Remember a question; the same one is remembered once."""
        if (path, question) in self.asked:
            return
        if len(self.asked) >= _MOST_LESSONS:
            self.is_overfull = True
        else:
            self.asked.append((path, question))

    def answers(self, variables: Mapping[str, object]) -> tuple[object, ...]:
        """Give what the questions yield for a request: a part of the key of its plan."""
        answers = []
        for path, question in self.asked:
            value: Any = variables
            try:
                for step in path:
                    value = value[step]
            except (LookupError, TypeError):
                value = ABSENT
            answers.append(question(value))
        return tuple(answers)


class Given:
    """A value that an argument or a part of one is given."""

    __slots__ = ("_lessons", "kind", "path", "value")

    def __init__(self, value: object, path: Path | None = None, lessons: Lessons | None = None) -> None:
        self.value, self.path, self._lessons = value, path, lessons
        self.kind = kind_of(value)

    @property
    def is_nothing(self) -> bool:
        """Tell whether it is absent or null."""
        return self.kind is Kind.ABSENT or self.kind is Kind.NULL

    def entries(self) -> dict[str, "Given"]:
        """Give the entries of an object; a variable's keys are part of its shape."""
        assert isinstance(self.value, dict)
        if self.path is None:
            return self.value
        return {key: self._below(key, value) for key, value in self.value.items()}

    def elements(self) -> list["Given"]:
        """Give the elements of a list. For a variable their number and shapes become part of the key."""
        assert isinstance(self.value, list)
        if self.path is None:
            return self.value
        self._learn(shapes)
        return [self._below(index, value) for index, value in enumerate(self.value)]

    def as_list(self) -> list["Given"]:
        """Give the elements of a list, or a single value as a list of one."""
        return self.elements() if self.kind is Kind.LIST else [self]

    def look(self) -> object:
        """Give the value itself; it becomes part of the key."""
        self._learn(itself)
        return self.plain()

    def ask(self, question: Callable[[object], T]) -> T:
        """Ask something of the value; the answer becomes part of the key."""
        self._learn(question)
        return question(self.plain())

    def look_into(self) -> object:
        """Give a literal with all variables in it; they become part of the key."""
        if self.path is not None:
            self._learn(spelled)
        elif isinstance(self.value, list):
            for one in self.value:
                one.look_into()
        elif isinstance(self.value, dict):
            for one in self.value.values():
                one.look_into()
        return self.plain()

    def plain(self) -> object:
        """Give the value without anything around it, absent variables inside lists as null."""
        if self.path is not None or isinstance(self.value, _Absent):
            return self.value
        if isinstance(self.value, list):
            return [None if one.kind is Kind.ABSENT else one.plain() for one in self.value]
        if isinstance(self.value, dict):
            return {key: one.plain() for key, one in self.value.items() if one.kind is not Kind.ABSENT}
        return self.value

    def _below(self, key: str | int, value: object) -> "Given":
        assert self.path is not None
        if len(self.path) > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        return Given(value, (*self.path, key), self._lessons)

    def _learn(self, question: Callable[[object], object]) -> None:
        if self.path is not None and self._lessons is not None:
            self._lessons.add(self.path, question)


class Inputs:
    """The variables of one operation while its plan is made, and the slots the plan has for them."""

    def __init__(
        self, variables: Mapping[str, object], defaults: Mapping[str, ValueNode | None], lessons: Lessons
    ) -> None:
        self._variables, self._defaults, self._lessons = variables, defaults, lessons
        self.readers: list[Reader] = []

    def given(self, node: ValueNode) -> Given:
        """Give what a node stands for. Raises: GraphQLFailure for a number that is too long."""
        match node:
            case VariableNode():
                return self._variable(node.name.value)
            case NullValueNode():
                return Given(None)
            case ListValueNode():
                return Given([self.given(each) for each in node.values or ()])
            case ObjectValueNode():
                return Given({each.name.value: self.given(each.value) for each in node.fields or ()})
        return Given(_literal(node))

    def parameter(self, given: Given, convert: Convert) -> Param:
        """Make the parameter of a scalar or a list. Raises: GraphQLFailure if it is of the wrong type."""
        if given.kind is Kind.NULL:
            return None
        if given.path is None:
            return convert(given.look_into()).encode()
        convert(given.value)  # a wrong type is told now
        self.readers.append(Reader(given.path, convert))
        return ParameterSlot(len(self.readers) - 1)

    def _variable(self, name: str) -> Given:
        if name in self._variables:
            return Given(self._variables[name], (name,), self._lessons)
        default = self._defaults.get(name)
        return NOTHING if default is None else self.given(default)


def kind_of(value: object) -> Kind:
    """Tell what stands in a place."""
    if value is None:
        return Kind.NULL
    if isinstance(value, list):
        return Kind.LIST
    if isinstance(value, dict):
        return Kind.OBJECT
    return Kind.ABSENT if value is ABSENT else Kind.SCALAR


NOTHING = Given(ABSENT)
"""An argument that is not there."""


def shape(value: object, depth: int = 0) -> object:
    """Give the shape of what a variable holds: of a list only which elements there are, not how many.

    Raises: GraphQLFailure for a value that is nested too deeply.
    """
    kind = type(value)
    if kind is dict:
        if depth > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        below = depth + 1
        return (*value, *[True if type(one) in SIMPLE else shape(one, below) for one in value.values()])  # type: ignore[misc, attr-defined]  # a dictionary, as was seen
    if kind is list:
        if depth > _DEEPEST:
            raise GraphQLFailure("The variables are nested too deeply")
        return frozenset([shape(one, depth + 1) for one in value])  # type: ignore[attr-defined]  # a list
    return value is not None


def shapes(value: object) -> object:
    """Give the shape of each element of a list; lists inside them are asked about by themselves."""
    return tuple([shape(one) for one in value]) if isinstance(value, list) else None


def itself(value: object) -> object:
    """Give a scalar as it is, in a form in which 1, 1.0 and true differ; the question for words that steer a plan."""
    kind = type(value)
    return kind if kind is list or kind is dict else (kind, value)


def spelled(value: object) -> object:
    """Give a value as JSON; the question for values that stand inside literals."""
    return None if value is ABSENT else msgspec.json.encode(value)


def value_at(variables: Mapping[str, object], path: Path) -> object:
    """Give what stands in a place, ABSENT where there is none."""
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
            return Word(node.value)
        case IntValueNode() if (
            number := parse_whole_number(node.value, least=-_FARTHEST, most=_FARTHEST)
        ) is not None:
            return number
        case FloatValueNode() if len(node.value) <= _LONGEST_NUMBER:
            return msgspec.json.decode(node.value)
    raise GraphQLFailure("A number has too many digits")
