"""Values in SQL: how the database's values become JSON, and how a client's values are bound. Pure.

Source: docs/reference/graphql.md, section 6.
"""

from collections.abc import Sequence

from workers.graphql.model import EnumType, Name, ValueType
from workers.graphql.plan.conditions import Operand
from workers.graphql.query.scope import cast
from workers.graphql.query.template import template
from workers.sql.compose import EMPTY, Sql, concat, join, literal, param, raw

_MOST_ARGUMENTS = 100
_LONGEST_NAME = 63
_MOST_COLUMNS = 1600


def operand(value: Operand) -> Sql:
    """Return an operand: a text parameter, cast to its type."""
    return cast(param(value.param), value.type)


def text_constant(text: str) -> Sql:
    """Return a constant of the type text: `__typename`, for example."""
    return template("{text}::text", text=literal(text))


def json_value(expression: Sql, type: ValueType) -> Sql:
    """Return an expression for a value in the answer: JSON, and numbers beyond JSON's precision, become strings."""
    if type.enum is not None and _is_renamed(type.enum):
        return _renamed_list(expression, type.enum) if type.is_list else _renamed(expression, type.enum)
    if not type.is_text:
        return expression
    return cast(expression, "text[]" if type.is_list else "text")


def base64_of(values: Sequence[Sql]) -> Sql:
    """Return the text of a cursor or an id: a JSON array in base64, on one line."""
    return template(
        "translate(encode(convert_to(jsonb_build_array({values})::text, 'UTF8'), 'base64'), E'\\n', '')",
        values=join(", ", values),
    )


def node_id(table: Name, key: Sequence[Sql]) -> Sql:
    """Return the global id of a row."""
    return base64_of([text_constant(table[0]), text_constant(table[1]), *key])


def json_object(fields: Sequence[tuple[str, Sql]], source: Sql = EMPTY) -> Sql:
    """Return a JSON object, one for each row of `source`, which begins with `from`.

    `row_to_json` of a sub-select is faster than a call with names and values, and takes more than 50 fields. Names that
    no column can have (63 bytes are the limit), and objects with more fields than a row has columns, are built in parts
    with `jsonb_build_object` (100 arguments a call).
    """
    end = template(" {source}", source=source) if source else EMPTY
    if not fields:
        return template("(select '{{}}'::json{end})", end=end)
    if fits_record(fields):
        return template(
            '(select row_to_json("@") from (select {items}{end}) "@")', items=record_items(fields), end=end
        )
    parts = [
        fields[start : start + _MOST_ARGUMENTS // 2] for start in range(0, len(fields), _MOST_ARGUMENTS // 2)
    ]
    calls = [
        template(
            "jsonb_build_object({members})",
            members=join(", ", [concat(text_constant(key), raw(", "), value) for key, value in part]),
        )
        for part in parts
    ]
    return template("(select ({calls})::json{end})", calls=join(" || ", calls), end=end)


def fits_record(fields: Sequence[tuple[str, Sql]]) -> bool:
    """Return whether a row can have these fields as its columns."""
    return 0 < len(fields) <= _MOST_COLUMNS and all(len(key) <= _LONGEST_NAME for key, _ in fields)


def record_items(fields: Sequence[tuple[str, Sql]]) -> Sql:
    """Return the select list of a row with these fields as its columns."""
    return join(", ", [_item(key, value) for key, value in fields])


def inner_object(fields: Sequence[tuple[str, Sql]], source: Sql = EMPTY) -> Sql:
    """Return an object inside another one, one for each row of `source`, which begins with `from`.

    It is a record, which becomes JSON together with the object around it: its text is written once, and not copied at
    each level. Where no row can have the fields, it is JSON.
    """
    if not fits_record(fields):
        return json_object(fields, source)
    end = template(" {source}", source=source) if source else EMPTY
    return template('(select "@" from (select {items}{end}) "@")', items=record_items(fields), end=end)


def _item(key: str, value: Sql) -> Sql:
    # A response key is a GraphQL name (a-z, A-Z, 0-9, `_`), so nothing in it has to be escaped.
    return template('{value} as "{key}"', value=value, key=Sql((key,)))


def _is_renamed(enum: EnumType) -> bool:
    return any(name != label for name, label in enum.labels.items())


def _renamed(expression: Sql, enum: EnumType) -> Sql:
    cases = [
        template(" when {label} then {name}", label=literal(label), name=literal(name))
        for name, label in enum.labels.items()
    ]
    return template("case ({expression})::text{cases} end", expression=expression, cases=concat(*cases))


def _renamed_list(expression: Sql, enum: EnumType) -> Sql:
    return template(
        "case when ({expression}) is null then null"
        ' else array(select {element} from unnest({array}) "@one") end',
        expression=expression,
        element=_renamed(raw('"@one"'), enum),
        array=expression,
    )
