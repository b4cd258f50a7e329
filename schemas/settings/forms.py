"""The forms that keys of the settings take: which type each key has, how a value becomes one, what it is called."""

from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.settings.functions import FunctionSettings
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
    dict[str, list[str]]: "a table of lists of texts",
    list: "a list of texts",
    dict: "a table of texts",
}


def keys(struct: type[Struct]) -> dict[str, Any]:
    """Give the keys of a table as files spell them, with their types."""
    return {each.encode_name: each.type for each in msgspec.structs.fields(struct)}


def is_table(kind: Any) -> bool:
    """Say whether a key holds a table of further keys."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def table_of_each(kind: Any) -> type[Struct] | None:
    """Give the table that stands under every name of a key, such as `buckets.<name>`; None for other keys."""
    inner = get_args(kind)[-1:] if get_origin(kind) is dict else ()
    return inner[0] if inner and is_table(inner[0]) else None


def leaves(struct: type[Struct], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give the path and the type of every key that is no table."""
    for name, kind in keys(struct).items():
        if is_table(kind):
            yield from leaves(kind, (*path, name))
        else:
            yield (*path, name), kind


KINDS: dict[tuple[str, ...], Any] = dict(leaves(Settings))
"""Every key of the settings, by its path, with its type."""


def form(kind: Any) -> str:
    """Say in words what a key of this type takes."""
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Annotated:
        return str(kind.__metadata__[0].description)
    return _FORMS.get(kind) or _FORMS.get(get_origin(kind), "a table")


def holds_secret(kind: Any) -> bool:
    """Say whether a key holds secrets, alone or in a table."""
    return kind is Secret or any(holds_secret(each) for each in get_args(kind))


def takes_text(kind: Any) -> bool:
    """Say whether any text can stand in a key, alone, in a list or in a table."""
    inside = get_args(kind)[1:] if get_origin(kind) is dict else get_args(kind)
    return kind is str or any(takes_text(each) for each in inside)


def made(kind: type, value: Any) -> Any:
    """Make the values that the library does not know. Raises: ValueError, TypeError for what is none."""
    if kind in (Duration, Quota, Size):
        return kind(value)
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError("not a text")


def texts(value: Any) -> Any:
    """Spell the numbers and truth values of a table of texts: files may write `max_connections = 100`."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(inner).lower() if isinstance(inner, bool | int | float) else inner
        for key, inner in value.items()
    }
