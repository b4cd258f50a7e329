"""One request as the endpoints see it, and the reading of its query parameters and body. Pure.

Query parameters and bodies are converted as the interface does it (JSON Schema with coercion): "5" is an integer, 5 a text, and
members that are not listed are ignored. What cannot be converted is answered 400 with the place and the type.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from workers.management.spellings.schema_metadata.errors import bad_request

MAX_BODY_BYTES = 3 * 1024 * 1024
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_BOOLEANS: dict[object, bool] = {True: True, False: False, "true": True, "false": False, None: False}
MOST_OID = 2**32 - 1


class MetadataRequest(Struct, frozen=True):
    """Method, path below `/pg`, query parameters (the last of a name counts) and the decoded body (None without one)."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    request_id: str = ""
    client: str = ""


def parse_query_string(query: str) -> dict[str, str]:
    """Return the query parameters; the last of a name counts."""
    try:
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise bad_request("The query has more than 100 parameters") from None


def parse_body(body: bytes) -> object:
    """Return the JSON of a body, None without one. Raises: MetadataError."""
    if not body:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise bad_request(f"body is not valid JSON: {error}") from None


def query_boolean(request: MetadataRequest, name: str) -> bool | None:
    """Return a query parameter that is true or false; None without it. Raises: MetadataError."""
    if name not in request.query:
        return None
    if (value := _BOOLEANS.get(request.query[name])) is None:
        raise bad_request(f"querystring/{name} must be boolean")
    return value


def query_number(request: MetadataRequest, name: str) -> bytes | None:
    """Return a query parameter that is a whole number of 0 or more, as Postgres reads it; None without it or if it is empty.

    Raises: MetadataError.
    """
    text = request.query.get(name, "").strip()
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_request(f"querystring/{name} must be integer")
    if text.startswith("-"):
        raise bad_request(f"querystring/{name} must not be negative")
    return text.removeprefix("+").encode()


def query_names(request: MetadataRequest, name: str) -> list[str] | None:
    """Return a query parameter that is a list of names with commas between them; None without it. Raises: MetadataError."""
    text = request.query.get(name)
    if text is not None and "\0" in text:
        raise bad_request(f"querystring/{name} must not contain a NUL character")
    return None if text is None else text.split(",")


def oid_of(text: str) -> str | None:
    """Return the digits of a path as an object id; None if no object can have it."""
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(MOST_OID)) or (len(digits) == len(str(MOST_OID)) and digits > str(MOST_OID)):
        return None
    return digits


def text_array(values: Sequence[str]) -> bytes:
    """Return texts as Postgres reads an array."""
    quoted = ('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return ("{" + ",".join(quoted) + "}").encode(errors="surrogatepass")
