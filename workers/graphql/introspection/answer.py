"""Answer `__schema` and `__type`. Pure.

In: the types of a schema, and a root field with fragments and variables. Out: the field's value, ready to be encoded.

The query is compiled first: the fields of introspection's own types have fixed types, so each selection set becomes a
plan for records of one type. A reference to a type occurs in thousands of places, always with the same plan, so its
answer is built once and shared. The written answer can still be very large, because shared parts are written wherever
they occur; `_Budget` limits both the values that are built and those that are written.
Lists that do not apply to a kind are empty for `enumValues` and `interfaces` and null otherwise, as in the original
(conformance, issue_581).
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from graphql.language import FieldNode, FragmentDefinitionNode, SelectionSetNode

from workers.graphql.errors import GraphQLFailure, QueryTooComplex
from workers.graphql.introspection.selection import SelectionContext, arguments, collect_fields
from workers.graphql.introspection.types import TypeDefinition, TypeKind, TypeRef, TypeSystem, Wrapped

_Sets = tuple[SelectionSetNode, ...]
_MOST_VALUES = 50_000
_VALUES_OF_A_MEMBER = 20
"""Values that an answer may have for each field, argument and enum value of the schema; the standard query has 9."""


class _MetaField(NamedTuple):
    """A field of one of introspection's own types."""

    read: Callable[[Any], Any]
    """Reads the value from the record; None is null."""
    of: str | None = None
    """For a field with subfields: the name of its type. The value is a record, or a type reference for `__Type`."""
    is_many: bool = False


_OVERHEAD = 2
"""Cost of the record itself, in values."""
_AnswerSize = tuple[dict[str, object], int]
"""The answer for a record, and how many values it has when it is written out."""


class _Budget:
    """Limit on the values of an answer: on those built (shared parts count once) and on those written."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._built = 0

    def add_cost(self, new_values: int, written: int) -> None:
        """Count values. Raises: GraphQLFailure beyond the bound."""
        self._built += new_values
        if self._built > self._limit or written > self._limit:
            raise QueryTooComplex(
                f"The answer about the types has more than {self._limit} values: ask for less at once"
            )


class _Plan:
    """The selected fields of records of one type."""

    def __init__(self, types: Mapping[str, TypeDefinition] | None, budget: _Budget) -> None:
        self.steps: list[tuple[str, Callable[[Any], Any], _Plan | None, bool]] = []
        self._types, self._budget = types, budget
        """`_types`: None unless the records are types, which are read by reference."""
        self._cache: dict[TypeRef, _AnswerSize] = {}

    def of(self, record: Any) -> _AnswerSize:
        """Return the answer for a record, or for the type behind a reference."""
        if self._types is None:
            return self._answered(record)
        cached = self._cache.get(record)
        if cached is None:
            cached = self._cache[record] = self._answered(
                self._types[record] if isinstance(record, str) else record
            )
        return cached

    def _answered(self, record: object) -> _AnswerSize:
        result: dict[str, object] = {}
        size = len(self.steps)
        new_values = size + _OVERHEAD
        for key, read, inner, is_many in self.steps:
            value = read(record)
            if inner is not None and value is not None:
                if is_many:
                    answers = [inner.of(item) for item in value]
                    size += sum([item[1] for item in answers])
                    new_values += len(answers)
                    value = [item[0] for item in answers]
                else:
                    value, inner_size = inner.of(value)
                    size += inner_size
            result[key] = value
        self._budget.add_cost(new_values, size)
        return result, size


def answer(
    described: TypeSystem,
    fields: Sequence[FieldNode],
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, object],
) -> object:
    """Answer a root field `__schema` or `__type`. `fields`: all nodes with its response key, already checked to agree.

    `variables` include the defaults of the operation. Parts of the answer are shared objects: encode it, do not change
    it. Raises: GraphQLFailure for an invalid query.
    """
    context = SelectionContext(fragments, variables)
    compiler = _Compiler(
        described.types, context, _Budget(_MOST_VALUES + _VALUES_OF_A_MEMBER * described.size)
    )
    sets = _inner_sets(fields)
    if fields[0].name.value == "__schema":
        return compiler.plan("__Schema", sets).of(described)[0]
    field_arguments = arguments(fields[0])
    name = context.value(field_arguments["name"]) if "name" in field_arguments else None
    if not isinstance(name, str):
        raise GraphQLFailure("Invalid input for NonNull type")
    plan = compiler.plan("__Type", sets)
    return plan.of(name)[0] if name in described.types else None


def _inner_sets(fields: Sequence[FieldNode]) -> _Sets:
    return tuple(field.selection_set for field in fields if field.selection_set)


class _Compiler:
    """Compiles selection sets to plans, each set once: a fragment is spread in many places."""

    def __init__(
        self, types: Mapping[str, TypeDefinition], context: SelectionContext, budget: _Budget
    ) -> None:
        self._types, self._asking, self._budget = types, context, budget
        self._plans: dict[tuple[str, tuple[int, ...]], _Plan] = {}

    def plan(self, type_name: str, sets: _Sets) -> _Plan:
        """Return the plan for records of a type. Selection sets are compared by identity; the document keeps them alive."""
        key = (type_name, tuple(map(id, sets)))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _Plan(self._types if type_name == "__Type" else None, self._budget)
            for response, fields in collect_fields(sets, type_name, self._asking).items():
                meta, inner = _meta_field(fields[0].name.value, type_name), _inner_sets(fields)
                if (meta.of is None) is bool(inner):
                    requirement = "cannot have" if inner else "needs"
                    subject = f'Field "{fields[0].name.value}" on type {type_name}'
                    raise GraphQLFailure(f"{subject} {requirement} a selection of fields")
                below = self.plan(meta.of, inner) if meta.of else None
                plan.steps.append((response, meta.read, below, meta.is_many))
        return plan


def _meta_field(name: str, type_name: str) -> _MetaField:
    meta = _META_FIELDS[type_name].get(name)
    if meta is not None:
        return meta
    if name != "__typename":
        raise GraphQLFailure(f'Unknown field "{name}" on type {type_name}')
    return _MetaField(_type_name if type_name == "__Type" else lambda _: type_name)


def _type_name(type_: TypeDefinition | Wrapped) -> str:
    """Return `__typename` of a type: the type's own name, as in the original (conformance, function_return_row...)."""
    return type_.name if isinstance(type_, TypeDefinition) else "__Type"


def _always_none(_: object) -> None:
    return None


def _always_false(_: object) -> bool:
    return False


def _member_reader(
    *kinds: TypeKind, otherwise: tuple[()] | None
) -> Callable[[TypeDefinition | Wrapped], object]:
    """Return a function that reads the members of types of some kinds."""
    return lambda type_: (
        type_.members if isinstance(type_, TypeDefinition) and type_.kind in kinds else otherwise
    )


def _named_type_reader(name: str) -> Callable[[Any], object]:
    """Return a function that reads an attribute that only named types have."""
    return lambda type_: getattr(type_, name) if isinstance(type_, TypeDefinition) else None


_DESCRIPTION, _NAME = _MetaField(attrgetter("description")), _MetaField(attrgetter("name"))
_TYPE, _ARGS = (
    _MetaField(attrgetter("type"), "__Type"),
    _MetaField(attrgetter("args"), "__InputValue", is_many=True),
)
_CURRENT = {"isDeprecated": _MetaField(_always_false), "deprecationReason": _MetaField(_always_none)}
"""We never mark anything as deprecated."""
_META_FIELDS: dict[str, dict[str, _MetaField]] = {
    "__Schema": {
        "description": _DESCRIPTION,
        "types": _MetaField(attrgetter("types"), "__Type", is_many=True),
        "queryType": _MetaField(attrgetter("query"), "__Type"),
        "mutationType": _MetaField(attrgetter("mutation"), "__Type"),
        "subscriptionType": _MetaField(_always_none, "__Type"),
        "directives": _MetaField(attrgetter("directives"), "__Directive", is_many=True),
    },
    "__Type": {
        "kind": _MetaField(lambda type_: type_.kind.value),
        "name": _MetaField(_named_type_reader("name")),
        "description": _MetaField(_named_type_reader("description")),
        "specifiedByURL": _MetaField(_always_none),
        "isOneOf": _MetaField(lambda type_: False if type_.kind is TypeKind.INPUT_OBJECT else None),
        "fields": _MetaField(
            _member_reader(TypeKind.OBJECT, TypeKind.INTERFACE, otherwise=None), "__Field", is_many=True
        ),
        "inputFields": _MetaField(
            _member_reader(TypeKind.INPUT_OBJECT, otherwise=None), "__InputValue", is_many=True
        ),
        "enumValues": _MetaField(_member_reader(TypeKind.ENUM, otherwise=()), "__EnumValue", is_many=True),
        "interfaces": _MetaField(lambda type_: getattr(type_, "interfaces", ()), "__Type", is_many=True),
        "possibleTypes": _MetaField(
            lambda type_: type_.possible if type_.kind is TypeKind.INTERFACE else None, "__Type", is_many=True
        ),
        "ofType": _MetaField(lambda type_: type_.of if isinstance(type_, Wrapped) else None, "__Type"),
    },
    "__Field": {"name": _NAME, "description": _DESCRIPTION, "args": _ARGS, "type": _TYPE, **_CURRENT},
    "__InputValue": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "type": _TYPE,
        "defaultValue": _MetaField(attrgetter("default")),
        **_CURRENT,
    },
    "__EnumValue": {"name": _NAME, "description": _DESCRIPTION, **_CURRENT},
    "__Directive": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "locations": _MetaField(attrgetter("locations")),
        "args": _ARGS,
        "isRepeatable": _MetaField(_always_false),
    },
}
