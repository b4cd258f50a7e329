"""Values of requests as Postgres reads them: the text format of a column's type. Pure.

A text is taken as it is, so whatever a page showed can be sent back. For programs, numbers, booleans, lists (arrays) and objects
(JSON) are written as text here. A large or exact number is sent as a text, because JSON readers round numbers.
"""

from typing import Any

import msgspec

from workers.management.areas.rows.table import TableColumn
from workers.management.interface.errors import invalid_arguments


def text_value(column: TableColumn, value: Any) -> bytes | None:
    """Return a value in the text format of a column's type; None is NULL. Raises: ManagementError (400)."""
    if value is None:
        return None
    if isinstance(value, str):
        return _encoded(column, value)
    if column.category == "json":
        return msgspec.json.encode(value)
    if isinstance(value, list) and column.category == "array":
        return _encoded(column, array_text(value))
    if isinstance(value, bool | int | float):
        return _encoded(column, _scalar(value))
    raise invalid_arguments(f"A {type(value).__name__} cannot be stored in {column.name} ({column.type})")


def array_text(items: list[Any]) -> str:
    """Return a list as an array literal; lists inside are further dimensions, objects are JSON.

    Source: PostgreSQL, "Arrays", "Array Input and Output Syntax".
    """
    return "{" + ",".join(_element(item) for item in items) + "}"


def _element(item: Any) -> str:
    if item is None:
        return "NULL"
    if isinstance(item, list):
        return array_text(item)
    if isinstance(item, dict):
        return _quoted(msgspec.json.encode(item).decode())
    return _quoted(item if isinstance(item, str) else _scalar(item))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _scalar(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _encoded(column: TableColumn, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b"\0"
    if 0 in data:
        raise invalid_arguments(f"The value of {column.name} has a character that Postgres cannot store")
    return data
