"""Types of the settings' keys: which type each key has, how a value is converted, and how its form is described."""

from collections.abc import Iterator
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.settings.functions import FunctionSettings
from schemas.settings.logs import LogDrain
from schemas.settings.storage import Bucket
from schemas.settings.tree import Settings
from schemas.settings.types import Duration, Quota, Size

_FORMS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Secret: "a text",
    Duration: Duration.FORM,
    Quota: Quota.FORM,
    Size: Size.FORM,
    dict[str, Bucket]: "a table of buckets",
    dict[str, FunctionSettings]: "a table of functions",
    dict[str, LogDrain]: "a table of drains",
    dict[str, list[str]]: "a table of lists of texts",
    list: "a list of texts",
    dict: "a table of texts",
}


@cache
def keys(struct: type[Struct]) -> dict[str, Any]:
    """Return the keys of a table as files name them, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


def is_table(kind: Any) -> bool:
    """Return whether a key contains a table of further keys."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def table_of_each(kind: Any) -> type[Struct] | None:
    """Return the type of the tables under every name of a key, such as `buckets.<name>`; None for other keys."""
    inner = get_args(kind)[-1:] if get_origin(kind) is dict else ()
    return inner[0] if inner and is_table(inner[0]) else None


def leaves(struct: type[Struct], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the type of every key that is not a table."""
    for name, kind in keys(struct).items():
        if is_table(kind):
            yield from leaves(kind, (*path, name))
        else:
            yield (*path, name), kind


KINDS: dict[tuple[str, ...], Any] = dict(leaves(Settings))
"""Every key of the settings, by its path, with its type."""


def form(kind: Any) -> str:
    """Return a description of what a key of this type accepts."""
    if NoneType in get_args(kind):
        kind = next(option for option in get_args(kind) if option is not NoneType)
    if get_origin(kind) is Annotated:
        return str(kind.__metadata__[0].description)
    return _FORMS.get(kind) or _FORMS.get(get_origin(kind), "a table")


def holds_secret(kind: Any) -> bool:
    """Return whether a key contains secrets, alone or in a table."""
    return kind is Secret or any(holds_secret(inner) for inner in get_args(kind))


def takes_text(kind: Any) -> bool:
    """Return whether a key accepts any text, alone, in a list or in a table."""
    inside = get_args(kind)[1:] if get_origin(kind) is dict else get_args(kind)
    return kind is str or any(takes_text(inner) for inner in inside)


def decode_value(kind: type, value: Any) -> Any:
    """Convert a value to one of our own types (a `dec_hook` of msgspec). Raises: ValueError, TypeError."""
    if kind in (Duration, Quota, Size):
        return kind(value)
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError("not a text")


def texts(value: Any) -> Any:
    """Convert the numbers and booleans of a table of texts: files may write `max_connections = 100`."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(inner).lower() if isinstance(inner, bool | int | float) else inner
        for key, inner in value.items()
    }
