"""The plan of `<table>Changes`: what the feed decides, what the log tells, and the statements that read a changed row. Pure.

    accountChanges(event: [INSERT, UPDATE], filter: {...}, since: "...") {
      event commitTimestamp position
      node { ... }     the row as it is now, with all that a row offers
      old { ... }      what the log knows of the row as it was
    }
Source: docs/graphql-subscriptions.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphql.language import SelectionSetNode

from schemas.changes import Position
from schemas.subscriptions import ChangeField, OldColumn, RowChangesPlan
from workers.database.transactions.model import Statement
from workers.graphql.compiled import Prepared
from workers.graphql.errors import GraphQLFailure
from workers.graphql.following.carried import carried
from workers.graphql.following.operation import TableChanges
from workers.graphql.model import Column, Entity
from workers.graphql.plan.filters import condition_of
from workers.graphql.plan.inputs import NOTHING, Given, Inputs, Reader
from workers.graphql.plan.rows import row_fields
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, quoted, select
from workers.graphql.plan.tree import All, Compare, Condition, Fields, Operand, Row, Table, TypeName
from workers.graphql.query.statement import statement_of
from workers.request_context.identity import RequestIdentity
from workers.sql.compose import ParameterSlot

EVENTS = ("INSERT", "UPDATE", "DELETE")
ARGUMENTS = ("event", "filter", "since")
_KEY = "\0key"
"""Stands for the key among the variables: no document can name it."""
_BARE: Fields = (("__typename", TypeName("")),)
"""What is asked of a row that has only to be there."""


@dataclass(frozen=True, slots=True)
class ChangesPlan:
    """What a subscription to changes takes."""

    told: RowChangesPlan
    rows: tuple[Prepared, ...]
    """One statement for each `node`, or one that only looks whether the filter holds; behind them, where there is a filter,
    one that looks whether the row is there."""

    def statements(self, key: Sequence[str], variables: Mapping[str, object]) -> list[Statement]:
        """Give the statements for a changed row. Raises: GraphQLFailure."""
        whole = {**variables, _KEY: list(key)}
        return [each.statement(whole) for each in self.rows]


def plan_changes(
    asked: TableChanges, identity: RequestIdentity, variables: Mapping[str, object]
) -> ChangesPlan:
    """Plan a subscription to changes. Raises: GraphQLFailure."""
    entity, planning, selected = asked.entity, asked.planning, asked.selected
    key = entity.key_columns
    if not key or len(key) != len(entity.primary_key) or not all(one.is_selectable for one in key):
        raise GraphQLFailure(
            f"{entity.name} has no primary key that may be read, so its changes cannot be told"
        )
    given = arguments(planning, selected.node, ARGUMENTS)
    events = _events(given.get("event", NOTHING))
    condition = condition_of(planning, entity, given.get("filter", NOTHING))
    text, rest = carried(condition, planning.inputs.readers, variables)
    if rest is not None and "DELETE" in events:
        raise GraphQLFailure(
            "This filter needs the row as it is now, and a deleted one is gone: name the events"
            " (event: [INSERT, UPDATE]), or compare columns with plain values only"
        )
    fields, nodes = _fields(planning, selected.sets, entity)
    if rest is not None and not nodes:
        nodes = [_BARE]
    told = RowChangesPlan(
        role=identity.role,
        claims=identity.claims.encode(),
        table=entity.sql,
        events=events,
        filter=text,
        is_filtered=rest is not None,
        select=_select(entity, fields),
        primary_key=[one.sql for one in key],
        name=selected.key,
        fields=fields,
        nodes=sum(one.kind == "node" for one in fields),
        since=_since(given.get("since", NOTHING)),
    )
    rows = [_prepared(planning.inputs, entity, node, rest) for node in nodes]
    if rest is not None:
        rows.append(_prepared(planning.inputs, entity, _BARE, None))
    return ChangesPlan(told, tuple(rows))


def _prepared(inputs: Inputs, entity: Entity, node: Fields, rest: Condition | None) -> Prepared:
    parts: list[Condition] = [] if rest is None else [rest]
    for index, column in enumerate(entity.key_columns):
        inputs.readers.append(Reader((_KEY, index), str))
        parts.append(
            Compare(column.sql, "=", Operand(ParameterSlot(len(inputs.readers) - 1), column.type.sql))
        )
    text, params = statement_of(Row(Table(entity.sql), node, All(tuple(parts))))
    return Prepared(text, params, tuple(inputs.readers))


def _events(given: Given) -> list[str]:
    if given.is_nothing:
        return list(EVENTS)
    value = given.look_into()
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(one, str) and one in EVENTS for one in names):
        raise GraphQLFailure(f"event is a list of {', '.join(EVENTS)}")
    return [one for one in EVENTS if one in names]


def _since(given: Given) -> str | None:
    if given.is_nothing:
        return None
    value = given.look()
    try:
        return str(Position.parse(value if isinstance(value, str) else ""))
    except ValueError:
        raise GraphQLFailure("since must be the position of a change") from None


def _select(entity: Entity, fields: Iterable[ChangeField]) -> list[str]:
    """Give the columns that the log has to tell."""
    needed = [one.sql for one in entity.key_columns]
    needed += [column.column for one in fields for column in one.columns if column.column]
    return list(dict.fromkeys(needed))


def _fields(
    planning: Planning, sets: Iterable[SelectionSetNode], entity: Entity
) -> tuple[list[ChangeField], list[Fields]]:
    """Give the fields of a change, and what is asked of each `node` among them."""
    type_name = f"{entity.name}Change"
    found: list[ChangeField] = []
    nodes: list[Fields] = []
    for one in select(planning, sets, type_name):
        arguments(planning, one.node, ())
        match one.name:
            case "event" | "commitTimestamp" | "position" as kind:
                found.append(ChangeField(one.key, kind))
            case "node":
                nodes.append(row_fields(planning, _sets(one), entity))
                found.append(ChangeField(one.key, "node"))
            case "old":
                found.append(ChangeField(one.key, "old", _old(planning, _sets(one), entity)))
            case name if name == TYPE_NAME:
                found.append(ChangeField(one.key, "typename", text=type_name))
            case name:
                raise GraphQLFailure(f"Unknown field {quoted(name)} on type {type_name}")
    if not found:
        raise GraphQLFailure(f"Nothing is selected of {type_name}")
    return found, nodes


def _sets(selected: Selected) -> list[SelectionSetNode]:
    if not selected.sets:
        raise GraphQLFailure(f"Nothing is selected of {quoted(selected.name)}")
    return selected.sets


def _old(planning: Planning, sets: Iterable[SelectionSetNode], entity: Entity) -> list[OldColumn]:
    type_name = f"{entity.name}Old"
    found = []
    for one in select(planning, sets, type_name):
        arguments(planning, one.node, ())
        column = entity.columns.get(one.name)
        if column is not None and column.is_selectable:
            found.append(_old_column(one.key, column))
        elif one.name == TYPE_NAME:
            found.append(OldColumn(one.key, "", labels={"": type_name}))
        else:
            raise GraphQLFailure(f"Unknown field {quoted(one.name)} on type {type_name}")
    return found


def _old_column(key: str, column: Column) -> OldColumn:
    type_ = column.type
    if type_.enum is not None:
        renamed = {label: name for name, label in type_.enum.labels.items() if name != label}
        return OldColumn(key, column.sql, labels=renamed)
    if type_.is_text:
        return OldColumn(key, column.sql, "text")
    return OldColumn(key, column.sql, "bytes" if type_.sql.split("[")[0].endswith("bytea") else "json")
