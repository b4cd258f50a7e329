"""Answers to `__schema` and `__type`. Pure.

In: the described schema, a field of the Query root with what stands around it. Out: its value, ready to be encoded.
A question is compiled first: the fields of introspection's own types have fixed types, so each selection set becomes a
plan for records of one type. A reference to a type occurs in thousands of places, always under the same plan, so its
answer is made once and shared. Lists that do not apply to a kind are empty for `enumValues` and `interfaces` and null
otherwise, as clients of the original have it (conformance, issue_581).
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from graphql.language import FieldNode, FragmentDefinitionNode, SelectionSetNode

from workers.graphql.errors import GraphQLFailure, TooMuch
from workers.graphql.introspection.selection import Asking, arguments, selected
from workers.graphql.introspection.types import Described, Kind, Type, TypeRef, Wrapped

_Sets = tuple[SelectionSetNode, ...]
_FLOOR = 50_000
_VALUES_OF_A_MEMBER = 20
"""Values that an answer may have for each field, argument and value of the schema; the usual question takes 9."""


class _Meta(NamedTuple):
    """A field of one of introspection's own types."""

    read: Callable[[Any], Any]
    """From the record to its value; None is null."""
    of: str | None = None
    """For what has fields itself: the name of its type. The value is a record, or a reference where it is a `__Type`."""
    is_many: bool = False


_OVERHEAD = 2
"""What a record costs besides its values, in values."""
_Made = tuple[dict[str, object], int]
"""The answer about a record, and how many values it has when it is written out."""


class _Budget:
    """How many values an answer may have, and how many may be made for it; what is shared is made once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made = 0

    def spend(self, made: int, written: int) -> None:
        """Count values. Raises: GraphQLFailure beyond the bound."""
        self._made += made
        if self._made > self._most or written > self._most:
            raise TooMuch(
                f"The answer about the types has more than {self._most} values: ask for less at once"
            )


class _Plan:
    """What is asked of records of one type."""

    def __init__(self, types: Mapping[str, Type] | None, budget: _Budget) -> None:
        self.steps: list[tuple[str, Callable[[Any], Any], _Plan | None, bool]] = []
        self._types, self._budget = types, budget
        """Types only where the records are types, which are given by reference."""
        self._known: dict[TypeRef, _Made] = {}

    def of(self, told: Any) -> _Made:
        """Give the answer about one record, or about the type that a reference leads to."""
        if self._types is None:
            return self._answered(told)
        known = self._known.get(told)
        if known is None:
            known = self._known[told] = self._answered(self._types[told] if isinstance(told, str) else told)
        return known

    def _answered(self, record: object) -> _Made:
        result: dict[str, object] = {}
        size = len(self.steps)
        made = size + _OVERHEAD
        for key, read, inner, is_many in self.steps:
            value = read(record)
            if inner is not None and value is not None:
                if is_many:
                    every = [inner.of(each) for each in value]
                    size += sum([each[1] for each in every])
                    made += len(every)
                    value = [each[0] for each in every]
                else:
                    value, inner_size = inner.of(value)
                    size += inner_size
            result[key] = value
        self._budget.spend(made, size)
        return result, size


def answer(
    described: Described,
    fields: Sequence[FieldNode],
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, object],
) -> object:
    """Answer a root field `__schema` or `__type`: all nodes that share its response key and were found to agree.

    `variables` hold the defaults of the operation as well. The answer shares parts within itself: encode it, do not
    change it. Raises: GraphQLFailure when the question is wrong.
    """
    asking = Asking(fragments, variables)
    compiler = _Compiler(described.types, asking, _Budget(_FLOOR + _VALUES_OF_A_MEMBER * described.size))
    sets = _inner_sets(fields)
    if fields[0].name.value == "__schema":
        return compiler.plan("__Schema", sets).of(described)[0]
    given = arguments(fields[0])
    name = asking.value(given["name"]) if "name" in given else None
    if not isinstance(name, str):
        raise GraphQLFailure("Invalid input for NonNull type")
    plan = compiler.plan("__Type", sets)
    return plan.of(name)[0] if name in described.types else None


def _inner_sets(fields: Sequence[FieldNode]) -> _Sets:
    return tuple(field.selection_set for field in fields if field.selection_set)


class _Compiler:
    """Makes plans of selection sets, each once: fragments are asked in many places."""

    def __init__(self, types: Mapping[str, Type], asking: Asking, budget: _Budget) -> None:
        self._types, self._asking, self._budget = types, asking, budget
        self._plans: dict[tuple[str, tuple[int, ...]], _Plan] = {}

    def plan(self, type_name: str, sets: _Sets) -> _Plan:
        """Give the plan for records of a type. Sets are told apart by identity, as they outlive the question."""
        key = (type_name, tuple(map(id, sets)))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _Plan(self._types if type_name == "__Type" else None, self._budget)
            for response, fields in selected(sets, type_name, self._asking).items():
                meta, inner = _meta(fields[0].name.value, type_name), _inner_sets(fields)
                if (meta.of is None) is bool(inner):
                    wanted = "cannot have" if inner else "needs"
                    told = f'Field "{fields[0].name.value}" on type {type_name}'
                    raise GraphQLFailure(f"{told} {wanted} a selection of fields")
                below = self.plan(meta.of, inner) if meta.of else None
                plan.steps.append((response, meta.read, below, meta.is_many))
        return plan


def _meta(name: str, type_name: str) -> _Meta:
    meta = _METAS[type_name].get(name)
    if meta is not None:
        return meta
    if name != "__typename":
        raise GraphQLFailure(f'Unknown field "{name}" on type {type_name}')
    return _Meta(_named if type_name == "__Type" else lambda _: type_name)


def _named(told: Type | Wrapped) -> str:
    """Give what `__typename` is on a type: its own name, as in the original (conformance, function_return_row...)."""
    return told.name if isinstance(told, Type) else "__Type"


def _nothing(_: object) -> None:
    return None


def _never(_: object) -> bool:
    return False


def _members(*kinds: Kind, otherwise: tuple[()] | None) -> Callable[[Type | Wrapped], object]:
    """Give a reader of the members of types of some kinds."""
    return lambda told: told.members if isinstance(told, Type) and told.kind in kinds else otherwise


def _own(name: str) -> Callable[[Any], object]:
    """Give a reader of what only named types have."""
    return lambda told: getattr(told, name) if isinstance(told, Type) else None


_DESCRIPTION, _NAME = _Meta(attrgetter("description")), _Meta(attrgetter("name"))
_TYPE, _ARGS = _Meta(attrgetter("type"), "__Type"), _Meta(attrgetter("args"), "__InputValue", is_many=True)
_CURRENT = {"isDeprecated": _Meta(_never), "deprecationReason": _Meta(_nothing)}
"""Nothing is ever deprecated."""
_METAS: dict[str, dict[str, _Meta]] = {
    "__Schema": {
        "description": _DESCRIPTION,
        "types": _Meta(attrgetter("types"), "__Type", is_many=True),
        "queryType": _Meta(attrgetter("query"), "__Type"),
        "mutationType": _Meta(attrgetter("mutation"), "__Type"),
        "subscriptionType": _Meta(_nothing, "__Type"),
        "directives": _Meta(attrgetter("directives"), "__Directive", is_many=True),
    },
    "__Type": {
        "kind": _Meta(lambda told: told.kind.value),
        "name": _Meta(_own("name")),
        "description": _Meta(_own("description")),
        "specifiedByURL": _Meta(_nothing),
        "isOneOf": _Meta(lambda told: False if told.kind is Kind.INPUT_OBJECT else None),
        "fields": _Meta(_members(Kind.OBJECT, Kind.INTERFACE, otherwise=None), "__Field", is_many=True),
        "inputFields": _Meta(_members(Kind.INPUT_OBJECT, otherwise=None), "__InputValue", is_many=True),
        "enumValues": _Meta(_members(Kind.ENUM, otherwise=()), "__EnumValue", is_many=True),
        "interfaces": _Meta(lambda told: getattr(told, "interfaces", ()), "__Type", is_many=True),
        "possibleTypes": _Meta(
            lambda told: told.possible if told.kind is Kind.INTERFACE else None, "__Type", is_many=True
        ),
        "ofType": _Meta(lambda told: told.of if isinstance(told, Wrapped) else None, "__Type"),
    },
    "__Field": {"name": _NAME, "description": _DESCRIPTION, "args": _ARGS, "type": _TYPE, **_CURRENT},
    "__InputValue": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "type": _TYPE,
        "defaultValue": _Meta(attrgetter("default")),
        **_CURRENT,
    },
    "__EnumValue": {"name": _NAME, "description": _DESCRIPTION, **_CURRENT},
    "__Directive": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "locations": _Meta(attrgetter("locations")),
        "args": _ARGS,
        "isRepeatable": _Meta(_never),
    },
}
