"""Plan `<table>Changes`: the filter for the feed, the columns from the log, and the statements that read a changed row. Pure.

    accountChanges(event: [INSERT, UPDATE], filter: {...}, since: "...") {
      event commitTimestamp position
      node { ... }     the row as it is now, with all fields of a row
      old { ... }      the columns of the row before the change that the log contains
    }
Source: docs/graphql-subscriptions.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphql.language import SelectionSetNode

from schemas.changes import Position
from schemas.subscriptions import ChangeField, OldColumn, RowChangesPlan
from workers.database.transactions.model import Statement
from workers.graphql.compilation import StatementTemplate
from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn
from workers.graphql.plan.conditions import ColumnComparison, Condition, Conjunction, Operand
from workers.graphql.plan.filters import plan_filter
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, Inputs, SlotReader
from workers.graphql.plan.rows import row_fields
from workers.graphql.plan.selection import TYPE_NAME, PlanContext, SelectedField, arguments, quoted, select
from workers.graphql.plan.tree import FieldPlans, RowPlan, TableRows, TypeName
from workers.graphql.query.statement import render_statement
from workers.graphql.reflect.change_fields import EVENTS
from workers.graphql.subscriptions.feed_filter import split_for_feed
from workers.graphql.subscriptions.operation import TableChanges
from workers.request_context.identity import RequestIdentity
from workers.sql.compose import ParameterSlot

ARGUMENTS = ("event", "filter", "since")
_KEY = "\0key"
"""Name of the row's key among the variables; no document can use it, because it is not a valid name."""
_EXISTENCE_FIELDS: FieldPlans = (("__typename", TypeName("")),)
"""Selected field of a statement that only checks whether a row exists."""


@dataclass(frozen=True, slots=True)
class ChangesPlan:
    """The plan of a subscription to changes: its description for the edge, and the statements that read a changed row."""

    description: RowChangesPlan
    rows: tuple[StatementTemplate, ...]
    """One statement for each `node`; with a filter but without a `node`, one that evaluates the filter. With a filter, a last
    statement checks whether the row exists at all."""

    def statements(self, key: Sequence[str], variables: Mapping[str, object]) -> list[Statement]:
        """Return the statements for a changed row. Raises: GraphQLFailure."""
        variables_with_key = {**variables, _KEY: list(key)}
        return [template.statement(variables_with_key) for template in self.rows]


def plan_changes(
    subscription: TableChanges, identity: RequestIdentity, variables: Mapping[str, object]
) -> ChangesPlan:
    """Plan a subscription to changes. Raises: GraphQLFailure."""
    entity, planning, selected = subscription.entity, subscription.planning, subscription.selected
    key = entity.key_columns
    if not key or len(key) != len(entity.primary_key) or not all(column.is_selectable for column in key):
        raise GraphQLFailure(
            f"{entity.name} has no primary key that may be read, so its changes cannot be told"
        )
    values = arguments(planning, selected.node, ARGUMENTS)
    events = _read_events(values.get("event", ABSENT_ARGUMENT))
    condition = plan_filter(planning, entity, values.get("filter", ABSENT_ARGUMENT))
    text, remainder = split_for_feed(condition, planning.inputs.readers, variables)
    if remainder is not None and "DELETE" in events:
        raise GraphQLFailure(
            "This filter needs the row as it is now, and a deleted one is gone: name the events"
            " (event: [INSERT, UPDATE]), or compare columns with plain values only"
        )
    fields, nodes = _plan_fields(planning, selected.sets, entity)
    if remainder is not None and not nodes:
        nodes = [_EXISTENCE_FIELDS]
    description = RowChangesPlan(
        role=identity.role,
        claims=identity.claims.encode(),
        table=entity.sql,
        events=events,
        filter=text,
        is_filtered=remainder is not None,
        select=_log_columns(entity, fields),
        primary_key=[column.sql for column in key],
        name=selected.key,
        fields=fields,
        nodes=sum(field.kind == "node" for field in fields),
        since=_read_since(values.get("since", ABSENT_ARGUMENT)),
    )
    rows = [_row_statement(planning.inputs, entity, node, remainder) for node in nodes]
    if remainder is not None:
        rows.append(_row_statement(planning.inputs, entity, _EXISTENCE_FIELDS, None))
    return ChangesPlan(description, tuple(rows))


def _row_statement(
    inputs: Inputs, entity: Entity, node: FieldPlans, remainder: Condition | None
) -> StatementTemplate:
    parts: list[Condition] = [] if remainder is None else [remainder]
    for index, column in enumerate(entity.key_columns):
        inputs.readers.append(SlotReader((_KEY, index), str))
        parts.append(
            ColumnComparison(
                column.sql, "=", Operand(ParameterSlot(len(inputs.readers) - 1), column.type.sql)
            )
        )
    text, params = render_statement(RowPlan(TableRows(entity.sql), node, Conjunction(tuple(parts))))
    return StatementTemplate(text, params, tuple(inputs.readers))


def _read_events(argument: ArgumentValue) -> list[str]:
    if argument.is_missing:
        return list(EVENTS)
    value = argument.resolved()
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in EVENTS for name in names):
        raise GraphQLFailure(f"event is a list of {', '.join(EVENTS)}")
    return [name for name in EVENTS if name in names]


def _read_since(argument: ArgumentValue) -> str | None:
    if argument.is_missing:
        return None
    value = argument.steering_value()
    try:
        return str(Position.parse(value if isinstance(value, str) else ""))
    except ValueError:
        raise GraphQLFailure("since must be the position of a change") from None


def _log_columns(entity: Entity, fields: Iterable[ChangeField]) -> list[str]:
    """Return the columns that are needed from the log."""
    needed = [item.sql for item in entity.key_columns]
    needed += [column.column for item in fields for column in item.columns if column.column]
    return list(dict.fromkeys(needed))


def _plan_fields(
    planning: PlanContext, sets: Iterable[SelectionSetNode], entity: Entity
) -> tuple[list[ChangeField], list[FieldPlans]]:
    """Return the fields of a change, and the selected fields of each `node` among them."""
    type_name = f"{entity.name}Change"
    fields: list[ChangeField] = []
    nodes: list[FieldPlans] = []
    for child in select(planning, sets, type_name):
        arguments(planning, child.node, ())
        match child.name:
            case "event" | "commitTimestamp" | "position" as kind:
                fields.append(ChangeField(child.key, kind))
            case "node":
                nodes.append(row_fields(planning, _sets(child), entity))
                fields.append(ChangeField(child.key, "node"))
            case "old":
                fields.append(
                    ChangeField(child.key, "old", _plan_old_columns(planning, _sets(child), entity))
                )
            case name if name == TYPE_NAME:
                fields.append(ChangeField(child.key, "typename", text=type_name))
            case name:
                raise GraphQLFailure(f"Unknown field {quoted(name)} on type {type_name}")
    if not fields:
        raise GraphQLFailure(f"Nothing is selected of {type_name}")
    return fields, nodes


def _sets(selected: SelectedField) -> list[SelectionSetNode]:
    if not selected.sets:
        raise GraphQLFailure(f"Nothing is selected of {quoted(selected.name)}")
    return selected.sets


def _plan_old_columns(
    planning: PlanContext, sets: Iterable[SelectionSetNode], entity: Entity
) -> list[OldColumn]:
    type_name = f"{entity.name}Old"
    columns = []
    for child in select(planning, sets, type_name):
        arguments(planning, child.node, ())
        column = entity.columns.get(child.name)
        if column is not None and column.is_selectable:
            columns.append(_old_column(child.key, column))
        elif child.name == TYPE_NAME:
            columns.append(OldColumn(child.key, "", labels={"": type_name}))
        else:
            raise GraphQLFailure(f"Unknown field {quoted(child.name)} on type {type_name}")
    return columns


def _old_column(key: str, column: EntityColumn) -> OldColumn:
    type_ = column.type
    if type_.enum is not None:
        renamed = {label: name for name, label in type_.enum.labels.items() if name != label}
        return OldColumn(key, column.sql, labels=renamed)
    if type_.is_text:
        return OldColumn(key, column.sql, "text")
    return OldColumn(key, column.sql, "bytes" if type_.sql.split("[")[0].endswith("bytea") else "json")
