"""How values leave, and how those of a client come in. Pure. Source: reference page "graphql", section 6."""

from collections.abc import Sequence

from workers.graphql.model import Enum, Name, ValueType
from workers.graphql.plan.tree import Operand
from workers.graphql.query.scope import cast
from workers.sql.compose import Sql, concat, join, literal, param, raw

_MOST_ARGUMENTS = 100
_LONGEST_NAME = 63
_MOST_COLUMNS = 1600


def operand(value: Operand) -> Sql:
    """Give an operand: a text parameter, cast to its type."""
    return cast(param(value.param), value.type)


def shown(expression: Sql, type: ValueType) -> Sql:
    """Give a value in the form in which it becomes JSON: numbers that JSON cannot hold, and JSON itself, as strings."""
    if type.enum is not None and _is_renamed(type.enum):
        return _renamed_list(expression, type.enum) if type.is_list else _renamed(expression, type.enum)
    if not type.is_text:
        return expression
    return cast(expression, "text[]" if type.is_list else "text")


def base64_of(values: Sequence[Sql]) -> Sql:
    """Give values as a cursor or an id has them: a JSON array in base64, in one line."""
    array = concat(raw("jsonb_build_array("), join(", ", values), raw(")::text"))
    return concat(raw("translate(encode(convert_to("), array, raw(", 'UTF8'), 'base64'), E'\\n', '')"))


def node_id(table: Name, key: Sequence[Sql]) -> Sql:
    """Give the global id of a row."""
    return base64_of([cast(literal(table[0]), "text"), cast(literal(table[1]), "text"), *key])


def json_object(fields: Sequence[tuple[str, Sql]], source: Sql | None = None) -> Sql:
    """Give a JSON object, one for each row of `source`, which begins with `from`.

    A row turned into JSON is faster than a call with names and values, and takes more than 50 fields. Names that no
    column can have (63 bytes are the limit) and objects beyond the columns of a row are put together from parts.
    """
    end = raw("") if source is None else concat(raw(" "), source)
    if not fields:
        return concat(raw("(select '{}'::json"), end, raw(")"))
    if len(fields) <= _MOST_COLUMNS and all(len(key) <= _LONGEST_NAME for key, _ in fields):
        items = join(", ", [_item(key, value) for key, value in fields])
        return concat(raw('(select row_to_json("@") from (select '), items, end, raw(') "@")'))
    parts = [
        fields[start : start + _MOST_ARGUMENTS // 2] for start in range(0, len(fields), _MOST_ARGUMENTS // 2)
    ]
    calls = [
        concat(
            raw("jsonb_build_object("),
            join(", ", [concat(literal(key), raw("::text, "), value) for key, value in part]),
            raw(")"),
        )
        for part in parts
    ]
    return concat(raw("(select ("), join(" || ", calls), raw(")::json"), end, raw(")"))


def _item(key: str, value: Sql) -> Sql:
    return concat(value, raw(' as "'), Sql((key,)), raw('"'))


def _is_renamed(enum: Enum) -> bool:
    return any(name != label for name, label in enum.labels.items())


def _renamed(expression: Sql, enum: Enum) -> Sql:
    cases = [
        concat(raw(" when "), literal(label), raw(" then "), literal(name))
        for name, label in enum.labels.items()
    ]
    return concat(raw("case ("), expression, raw(")::text"), *cases, raw(" end"))


def _renamed_list(expression: Sql, enum: Enum) -> Sql:
    one = _renamed(raw('"@one"'), enum)
    several = concat(raw("array(select "), one, raw(" from unnest("), expression, raw(') "@one")'))
    return concat(raw("case when ("), expression, raw(") is null then null else "), several, raw(" end"))
