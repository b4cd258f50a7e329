"""Inserts, updates, upserts and deletes as SQL. Pure.

The payload is one parameter, turned into rows by `json_to_recordset`, so Postgres converts every value.
Source: docs/reference/rest.md, sections 13 and 24.
"""

from workers.rest.model import PAYLOAD, RelationWrite, RequestAction, WriteColumn
from workers.rest.query.fields import where_sql
from workers.rest.query.joins import row_reference
from workers.sql.compose import EMPTY, Sql, catalog_text, concat, ident, join, literal, param, qualified, raw

_BODY = raw("hw_body")
_CHUNK = 40  # jsonb_build_object takes 100 arguments

INSERTED = "hw.inserted"
"""Transaction-local setting by which an upsert notes which rows it updated; `inserted_sql` reads it."""


def write_sql(write: RelationWrite) -> Sql:
    """Return the statement that changes rows, with what it returns."""
    match write.action:
        case RequestAction.DELETE:
            change = concat(raw("delete from "), _table(write), _where(write))
        case RequestAction.UPDATE if write.is_no_op:
            return _nothing(write)
        case RequestAction.UPDATE:
            change = _update(write)
        case _:
            change = insert_sql(write)
    return concat(change, raw(" returning "), returning_sql(write))


def _table(write: RelationWrite) -> Sql:
    return qualified(write.relation.schema, write.relation.name)


def _keys(write: RelationWrite) -> list[WriteColumn]:
    return [column for column in write.columns if column.name in write.matched_by]


def repeated_keys_sql(write: RelationWrite) -> Sql:
    """Return whether two rows of the payload have equal keys, as their types compare."""
    keys = join(", ", [value_sql(key) for key in _keys(write)])
    return concat(
        raw("exists (select from "),
        _rows(write),
        raw(" group by "),
        keys,
        raw(" having pg_catalog.count(*) operator(pg_catalog.>) 1)"),
    )


def _where(write: RelationWrite) -> Sql:
    ties = [
        concat(_table(write), raw("."), ident(key.name), raw(" = "), value_sql(key)) for key in _keys(write)
    ]
    return where_sql(row_reference(_table(write)), write.where, *ties)


def returning_sql(write: RelationWrite) -> Sql:
    """Return the columns of the changed rows that the answer shows."""
    if not write.returning:
        return raw("1")
    return join(", ", [concat(_table(write), raw("."), ident(name)) for name in write.returning])


def _nothing(write: RelationWrite) -> Sql:
    """Return no rows, of the shape that an update would return: a body without columns changes nothing."""
    if not write.returning:
        return raw("select 1 where false")
    return concat(raw("select "), returning_sql(write), raw(" from "), _table(write), raw(" where false"))


def _update(write: RelationWrite) -> Sql:
    changed = [column for column in write.columns if column.name not in write.matched_by]
    sets = [concat(ident(item.name), raw(" = "), value_sql(item)) for item in changed]
    if write.matched_by:
        rows = _rows(write)
    else:
        rows = concat(raw("(select * from "), _rows(write), raw(" limit 1) as "), _BODY)
    return concat(
        raw("update "), _table(write), raw(" set "), join(", ", sets), raw(" from "), rows, _where(write)
    )


def insert_sql(write: RelationWrite) -> Sql:
    """Return the insert alone, without what it returns."""
    into = concat(raw("insert into "), _table(write))
    if not write.columns:
        rows = (
            concat(
                raw(" select from pg_catalog.json_array_elements("), param(PAYLOAD), raw("::json) as "), _BODY
            )
            if write.is_array
            else raw(" default values")
        )
        return concat(into, rows, _on_conflict(write))
    names = join(", ", [ident(column.name) for column in write.columns])
    values = join(", ", [value_sql(column) for column in write.columns])
    checks = [
        concat(_BODY, raw("."), ident(name), raw(" = "), param(operand)) for name, operand in write.key_check
    ] + ([_counter(raw("+ 1"), raw("'0'"))] if _counts_offered(write) else [])
    where = concat(raw(" where "), join(" and ", checks)) if checks else EMPTY
    return concat(
        into,
        raw(" ("),
        names,
        raw(") select "),
        values,
        raw(" from "),
        _rows(write),
        where,
        _on_conflict(write),
    )


def value_sql(column: WriteColumn) -> Sql:
    """Return the value of a column from the row `hw_body`."""
    value = concat(_BODY, raw("."), ident(column.name))
    return concat(qualified(*column.from_json), raw("("), value, raw(")")) if column.from_json else value


def _rows(write: RelationWrite) -> Sql:
    """Return the payload as rows named `hw_body`."""
    columns = typed_sql(write.columns)
    defaults = [column for column in write.columns if column.default] if write.fills_defaults else []
    if not defaults:
        to_rows = (
            raw("pg_catalog.json_to_recordset(") if write.is_array else raw("pg_catalog.json_to_record(")
        )
        return concat(to_rows, param(PAYLOAD), raw("::json)"), columns)
    filled = filled_sql(defaults)
    if not write.is_array:
        return concat(raw("pg_catalog.jsonb_to_record("), filled, param(PAYLOAD), raw("::jsonb)"), columns)
    return concat(
        raw("pg_catalog.jsonb_to_recordset((select pg_catalog.jsonb_agg("),
        filled,
        raw("hw_element) from pg_catalog.jsonb_array_elements("),
        param(PAYLOAD),
        raw("::jsonb) as hw_element))"),
        columns,
    )


def typed_sql(columns: tuple[WriteColumn, ...]) -> Sql:
    """Return the name and the columns of the rows `hw_body`."""
    typed = [
        concat(ident(column.name), raw(" "), raw("json") if column.from_json else catalog_text(column.type))
        for column in columns
    ]
    return concat(raw(" as "), _BODY, raw("("), join(", ", typed), raw(")"))


def filled_sql(columns: list[WriteColumn]) -> Sql:
    """Return an object of defaults, to be overlaid by what was sent."""
    chunks = [columns[start : start + _CHUNK] for start in range(0, len(columns), _CHUNK)]
    built = []
    for chunk in chunks:
        pairs = [
            concat(literal(item.name), raw(", "), catalog_text(item.default or "null")) for item in chunk
        ]
        built.append(concat(raw("pg_catalog.jsonb_build_object("), join(", ", pairs), raw(") || ")))
    return concat(*built)


def _on_conflict(write: RelationWrite) -> Sql:
    if write.resolution is None:
        return EMPTY
    target = concat(raw(" on conflict ("), join(", ", [ident(name) for name in write.conflict]), raw(") do "))
    if write.resolution == "ignore-duplicates" or not write.columns:
        return concat(target, raw("nothing"))
    sets = [concat(ident(column.name), raw(" = excluded."), ident(column.name)) for column in write.columns]
    return concat(target, raw("update set "), join(", ", sets), raw(" where "), _noted_update(write))


def inserted_sql(write: RelationWrite) -> Sql:
    """Return how many rows an upsert inserted, beside a count of the rows it changed; NULL where it updates none, for want of columns.

    They are the rows that were offered, without those that it updated. `returning xmax` would tell it for less, but needs the right to
    select more columns than an upsert does.
    """
    setting = concat(raw("nullif(pg_catalog.current_setting("), literal(INSERTED), raw(", true), '')"))
    if not write.columns or _counts_offered(write):
        return setting
    if not write.is_array:
        return concat(raw("coalesce("), setting, raw(", '1')"))
    return concat(raw("pg_catalog.count(*) + coalesce("), setting, raw("::int, 0)"))


def _counts_offered(write: RelationWrite) -> bool:
    """Return whether a counter has to say how many rows of an array were offered to an upsert.

    Not where each of them is changed and the answer counts them all, which costs Postgres a tenth less.
    """
    keeps_all = write.relation.keeps_inserts and write.relation.keeps_updates
    is_counted = keeps_all and not (write.is_shown or write.key_check)
    return write.resolution == "merge-duplicates" and write.is_array and not is_counted


def _noted_update(write: RelationWrite) -> Sql:
    """Return a condition that always holds and notes that a row is updated: one of a single row, else one of many."""
    if not write.is_array:
        return concat(raw("pg_catalog.set_config("), literal(INSERTED), raw(", '0', true) = '0'"))
    return _counter(raw("- 1"), raw("'-1'") if _counts_offered(write) else raw("'1'"))


def _counter(step: Sql, never: Sql) -> Sql:
    """Count a row as a side effect of a condition that always holds."""
    current = concat(
        raw("coalesce(nullif(pg_catalog.current_setting("), literal(INSERTED), raw(", true), '')::int, 0) ")
    )
    return concat(
        raw("pg_catalog.set_config("),
        literal(INSERTED),
        raw(", ("),
        current,
        step,
        raw(")::text, true) <> "),
        never,
    )
