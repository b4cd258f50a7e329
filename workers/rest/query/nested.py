"""Nested inserts as SQL: one statement a relation, which leaves the keys it made in a setting of the transaction. Pure.

The setting holds a JSON array with an object for each row, in the order of the rows; a later row refers to its place.
Source: docs/rest-additions.md, "Nested inserts".
"""

from workers.rest.model import RelationInsert, WriteColumn
from workers.rest.query.write import filled_sql, typed_sql, value_sql
from workers.sql.compose import EMPTY, Sql, catalog_text, concat, ident, join, literal, param, qualified, raw
from workers.sql.compose import number as number_sql

_EACH = raw("hw_each.value")


def nested_sql(insert: RelationInsert, number: int, *, fills_defaults: bool) -> Sql:
    """Return the insert of one relation; where keys are kept, it gives one row with the number of rows made."""
    insert_statement = concat(
        raw("insert into "),
        qualified(insert.relation.schema, insert.relation.name),
        _values(insert, fills_defaults=fills_defaults),
    )
    if not insert.keeps:
        return insert_statement
    kept_columns = join(", ", [ident(name) for name in insert.keeps])
    return concat(
        raw("with hw_made as ("),
        insert_statement,
        raw(" returning "),
        kept_columns,
        raw(") select pg_catalog.count(*), pg_catalog.set_config("),
        literal(_setting(number)),
        raw(", coalesce(pg_catalog.json_agg(hw_made)::text, '[]'), true) from hw_made"),
    )


def made_sql(insert: RelationInsert, number: int, key: tuple[WriteColumn, ...], returning: Sql) -> Sql:
    """Return the rows that an insert made, in their order, found again by their key."""
    table = qualified(insert.relation.schema, insert.relation.name)
    typed = join(", ", [concat(ident(column.name), raw(" "), catalog_text(column.type)) for column in key])
    names = join(", ", [ident(column.name) for column in key])
    ties = [
        concat(table, raw("."), ident(column.name), raw(" = hw_key."), ident(column.name)) for column in key
    ]
    return concat(
        raw("select "),
        returning,
        raw(", hw_key.hw_number from rows from (pg_catalog.jsonb_to_recordset("),
        _made(number),
        raw(") as ("),
        typed,
        raw(")) with ordinality as hw_key("),
        names,
        raw(", hw_number) inner join "),
        table,
        raw(" on "),
        join(" and ", ties),
    )


def counted_sql(insert: RelationInsert) -> Sql:
    """Return as many empty rows as an insert made, for answers that show no rows."""
    return concat(raw("select 1 from pg_catalog.generate_series(1, "), number_sql(insert.count), raw(")"))


def _values(insert: RelationInsert, *, fills_defaults: bool) -> Sql:
    rows = concat(param(insert.rows), raw("::jsonb"))
    if not insert.columns:
        return concat(raw(" select from pg_catalog.jsonb_array_elements("), rows, raw(")"))
    defaults = [column for column in insert.columns if column.default] if fills_defaults else []
    ties = [_tie(insert, place) for place in range(len(insert.ties))]
    whole = concat(filled_sql(defaults), raw("("), _EACH, raw(" -> 'row')"), *ties)
    return concat(
        raw(" ("),
        join(", ", [ident(column.name) for column in insert.columns]),
        raw(") select "),
        join(", ", [value_sql(column) for column in insert.columns]),
        raw(" from pg_catalog.jsonb_to_recordset((select pg_catalog.jsonb_agg("),
        whole,
        raw(" order by hw_each.number) from pg_catalog.jsonb_array_elements("),
        rows,
        raw(") with ordinality as hw_each(value, number)"),
        _sources(insert),
        raw("))"),
        typed_sql(insert.columns),
    )


def _sources(insert: RelationInsert) -> Sql:
    """Return the keys made before, read once for all rows."""
    if not insert.ties:
        return EMPTY
    listed = [
        concat(_made(tie.insert), raw(" as "), ident(f"made_{place}"))
        for place, tie in enumerate(insert.ties)
    ]
    return concat(raw(", (select "), join(", ", listed), raw(" offset 0) as hw_before"))


def _tie(insert: RelationInsert, place: int) -> Sql:
    """Return what a tie adds to a row: the columns that refer to the other, if the row has one."""
    number = concat(_EACH, raw(" -> 'of' -> "), number_sql(place))
    other = concat(raw("hw_before."), ident(f"made_{place}"), raw(" -> ("), number, raw(")::int"))
    pairs = [
        concat(literal(column_name), raw(", "), other, raw(" -> "), literal(theirs))
        for column_name, theirs in insert.ties[place].pairs
    ]
    added = concat(raw("pg_catalog.jsonb_build_object("), join(", ", pairs), raw(")"))
    return concat(raw(" || case when "), number, raw(" = 'null' then '{}'::jsonb else "), added, raw(" end"))


def _made(number: int) -> Sql:
    return concat(raw("pg_catalog.current_setting("), literal(_setting(number)), raw(")::jsonb"))


def _setting(number: int) -> str:
    return f"hw.made_{number}"
