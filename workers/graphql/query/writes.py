"""Writes: the statement in a `with`, and the answer read from the rows it returns. Pure.

    with "@written" as (update "item" as "@1" set ... where ... returning ...) select <the JSON object>

A write of more rows than `atMost` must change nothing. The final select counts the returned rows and, when there are too
many, computes a cast that fails: `('headwater: <message>: ' || count)::int4`. The error undoes the transaction, and
`execute.failure_from` takes the message out of its text. Source: docs/reference/graphql.md, section 14.
"""

import re

from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.tree import (
    AffectedCount,
    ConflictClause,
    DeletePlan,
    FieldPlans,
    InsertPlan,
    Records,
    TypeName,
    UpdatePlan,
)
from workers.graphql.query.conditions import condition
from workers.graphql.query.fields import row_items
from workers.graphql.query.scope import Aliases, RowScope, cast
from workers.graphql.query.template import optional, template
from workers.graphql.query.values import json_object, operand, text_constant
from workers.sql.compose import EMPTY, Sql, ident, join, literal, number, qualified, raw

RAISED_ERROR = re.compile(r'"headwater: ([a-z ]+): \d+"$')
"""The end of the database's error message for the failing cast of `raise_error`."""
WRITTEN_ROWS = raw('"@written"')
WRITTEN_COUNT = template("(select count(*) from {rows})", rows=WRITTEN_ROWS)


def insert(plan: InsertPlan, aliases: Aliases) -> Sql:
    """Return an insert."""
    target, answer, returned = response_parts(plan.fields, aliases, plan.visible_column)
    written = template(
        "insert into {table} as {target} ({columns}) {rows}{on_conflict}",
        table=qualified(*plan.table),
        target=ident(target),
        columns=join(", ", [ident(name) for name, _ in plan.columns]),
        rows=_new_rows(plan),
        on_conflict=EMPTY if plan.conflict is None else _on_conflict(plan.conflict, target),
    )
    return _with_answer(written, returned, answer)


def _new_rows(plan: InsertPlan) -> Sql:
    """Return the rows to insert: unpacked from one JSON parameter, or as a list of values."""
    if plan.packed_rows is None:
        return template("values {rows}", rows=join(", ", [_values(row) for row in plan.rows]))
    values = [
        cast(template('("@row" ->> {index})', index=number(index)), type_)
        for index, (_, type_) in enumerate(plan.columns)
    ]
    return template(
        "select {values} from jsonb_array_elements({packed_rows})"
        ' with ordinality as "@rows" ("@row", "@n") order by "@n"',
        values=join(", ", values),
        packed_rows=operand(plan.packed_rows),
    )


def _on_conflict(conflict: ConflictClause, target: str) -> Sql:
    """Return the clause for rows that exist already."""
    if not conflict.columns:
        return template(
            " on conflict on constraint {constraint} do nothing", constraint=ident(conflict.constraint)
        )
    return template(
        " on conflict on constraint {constraint} do update set {assignments}{where}",
        constraint=ident(conflict.constraint),
        assignments=join(
            ", ", [template("{name} = excluded.{name}", name=ident(name)) for name in conflict.columns]
        ),
        where=_where(conflict, target),
    )


def update(plan: UpdatePlan, aliases: Aliases) -> Sql:
    """Return an update."""
    target, answer, returned = response_parts(plan.fields, aliases, plan.visible_column)
    written = template(
        "update {table} as {target} set {assignments}{where}",
        table=qualified(*plan.table),
        target=ident(target),
        assignments=join(
            ", ",
            [
                template("{name} = {value}", name=ident(name), value=operand(value))
                for name, value in plan.assignments
            ],
        ),
        where=_where(plan, target),
    )
    return _with_answer(written, returned, _limited_answer(answer, plan.at_most, "update"))


def delete(plan: DeletePlan, aliases: Aliases) -> Sql:
    """Return a delete."""
    target, answer, returned = response_parts(plan.fields, aliases, plan.visible_column)
    written = template(
        "delete from {table} as {target}{where}",
        table=qualified(*plan.table),
        target=ident(target),
        where=_where(plan, target),
    )
    return _with_answer(written, returned, _limited_answer(answer, plan.at_most, "delete"))


def response_parts(
    fields: FieldPlans, aliases: Aliases, visible_column: str | None = None
) -> tuple[str, Sql, Sql]:
    """Return the alias of the table, the answer read from `WRITTEN_ROWS`, and the `returning` list that it needs.

    `visible_column` is returned in any case.
    """
    target = aliases.next()
    scope = RowScope(aliases.next(), is_derived=True)
    if visible_column is not None:
        scope.column(visible_column)
    items: list[tuple[str, Sql]] = []
    for key, field in fields:
        match field:
            case TypeName(name):
                items.append((key, text_constant(name)))
            case AffectedCount():
                items.append((key, WRITTEN_COUNT))
            case Records(inner):
                records = template(
                    "(select coalesce(json_agg({record}), '[]'::json) from {rows} as {alias})",
                    record=json_object(row_items(inner, scope, aliases)),
                    rows=WRITTEN_ROWS,
                    alias=ident(scope.alias),
                )
                items.append((key, records))
    return target, json_object(items), scope.select_list(target)


def _with_answer(written: Sql, returned: Sql, answer: Sql) -> Sql:
    return template(
        "with {rows} as ({written} returning {returned}) select {answer}",
        rows=WRITTEN_ROWS,
        written=written,
        returned=returned,
        answer=answer,
    )


def _limited_answer(answer: Sql, at_most: Operand, verb: str) -> Sql:
    """Return the answer if at most `at_most` rows were written, and otherwise an expression that raises."""
    return template(
        "case when {count} > {at_most} then {error}::text::json else {answer} end",
        count=WRITTEN_COUNT,
        at_most=operand(at_most),
        error=raise_error(f"{verb} impacts too many records", WRITTEN_COUNT),
        answer=answer,
    )


def raise_error(message: str, count: Sql) -> Sql:
    """Return an expression that raises when it is computed. `message` consists of a-z and spaces (`RAISED_ERROR`)."""
    return template("({message} || {count})::int4", message=literal(f"headwater: {message}: "), count=count)


def _values(row: tuple[Operand | None, ...]) -> Sql:
    values = [raw("default") if value is None else operand(value) for value in row]
    return template("({values})", values=join(", ", values))


def _where(plan: UpdatePlan | DeletePlan | ConflictClause, target: str) -> Sql:
    return optional(
        " where {value}", None if plan.condition is None else condition(plan.condition, RowScope(target))
    )
