"""The forms of request bodies, and how members are converted to them. Pure.

`OBJECTS` of an endpoint name its members with their types. `convert` returns the members that were sent, converted; messages are
those of the interface (`body/name must be string`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from schemas.numbers import parse_whole_number
from workers.management.spellings.schema_metadata.errors import bad_request

_MOST = 2**53
"""The interface's numbers are those of JavaScript."""
_COLUMN_ID = re.compile(r"\d{1,10}\.\d{1,5}", re.ASCII)


class BodyMemberType(StrEnum):
    """What a member of a body is."""

    TEXT = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TEXTS = "array"
    TEXT_MAP = "object"
    COLUMN_ID = "column id"
    TABLES = "tables"
    """Names of tables, or null for all of them."""
    OPTIONAL_TEXT = "string or null"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class BodyMember:
    """A member of a body. With `choices` it is one of these texts; an ANY member with `members` is an array of such objects."""

    type: BodyMemberType = BodyMemberType.TEXT
    is_required: bool = False
    choices: tuple[str, ...] = ()
    members: Mapping[str, "BodyMember"] = field(default_factory=dict)


Form = Mapping[str, BodyMember]
Body = Mapping[str, Any]


def convert(body: object, form: Form, place: str = "body") -> dict[str, Any]:
    """Return the listed members of an object, converted. Raises: MetadataError."""
    if not isinstance(body, dict):
        raise bad_request(f"{place} must be object")
    members = cast("dict[str, object]", body)
    for name, member in form.items():
        if member.is_required and name not in members:
            raise bad_request(f"{place} must have required property '{name}'")
    return {
        name: _converted(members[name], member, f"{place}/{name}")
        for name, member in form.items()
        if name in members
    }


def convert_list(body: object, form: Form, place: str = "body") -> list[dict[str, Any]]:
    """Return the objects of an array, converted. Raises: MetadataError."""
    if not isinstance(body, list):
        raise bad_request(f"{place} must be array")
    return [
        convert(value, form, f"{place}/{index}") for index, value in enumerate(cast("list[object]", body))
    ]


def _converted(value: object, member: BodyMember, place: str) -> object:
    if member.choices:
        if value not in member.choices:
            raise bad_request(f"{place} must be one of {', '.join(member.choices)}")
        return value
    match member.type:
        case BodyMemberType.TEXT:
            return _text(value, place)
        case BodyMemberType.OPTIONAL_TEXT:
            return None if value is None else _text(value, place)
        case BodyMemberType.INTEGER:
            return _integer(value, place)
        case BodyMemberType.BOOLEAN:
            return _boolean(value, place)
        case BodyMemberType.TEXTS:
            return _texts(value, place)
        case BodyMemberType.TABLES:
            return None if value is None else _texts(value, place)
        case BodyMemberType.TEXT_MAP:
            return _text_map(value, place)
        case BodyMemberType.COLUMN_ID:
            if not isinstance(value, str) or not _COLUMN_ID.fullmatch(value):
                raise bad_request(f'{place} must match pattern "^(\\d+)\\.(\\d+)$"')
            return value
        case BodyMemberType.ANY:
            return convert_list(value, member.members, place) if member.members else value


def _text(value: object, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        raise bad_request(f"{place} must be string")
    if "\0" in value:
        raise bad_request(f"{place} must not contain a NUL character")
    return value


def _integer(value: object, place: str) -> int:
    if value is None or isinstance(value, bool):
        return 1 if value else 0
    number = parse_whole_number(value, least=-_MOST, most=_MOST) if isinstance(value, str) else value
    if not isinstance(number, int) or abs(number) > _MOST:
        raise bad_request(f"{place} must be integer")
    return number


def _boolean(value: object, place: str) -> bool:
    if value is None or value in ("false", 0):
        return False
    if value in ("true", 1):
        return True
    raise bad_request(f"{place} must be boolean")


def _texts(value: object, place: str) -> Sequence[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [_text(item, f"{place}/{index}") for index, item in enumerate(values)]


def _text_map(value: object, place: str) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise bad_request(f"{place} must be object")
    members = cast("dict[str, object]", value)
    return {_text(name, place): _text(item, f"{place}/{name}") for name, item in members.items()}
