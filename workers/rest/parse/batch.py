"""Several operations in one request: their list, and references from one to the results of those before. Pure.

Source: docs/rest-additions.md, "Several operations, one transaction".
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

import msgspec
from msgspec import Struct

from schemas.http import Headers
from schemas.numbers import parse_whole_number
from workers.rest.errors.parse import BadBody

MOST_OPERATIONS = 100
METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE")

_REFERENCE = "$ref"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_OWN_HEADERS = frozenset({
    "accept", "accept-profile", "content-profile", "content-type", "prefer", "range", "range-unit",
})  # fmt: skip
"""Headers that an operation sets for itself; the others are those of the request around it."""


class BatchOperation(Struct, frozen=True, forbid_unknown_fields=True):
    """One operation as it is sent. `as_` names its result; without one, its number does."""

    method: str
    path: str
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw()
    as_: str | None = msgspec.field(default=None, name="as")


class ResolvedOperation(Struct, frozen=True):
    """An operation with its references resolved."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


Results = Mapping[str, object]
"""What operations have given, by name: bodies as JSON values."""

_operations = msgspec.json.Decoder(list[BatchOperation])
_any = msgspec.json.Decoder(float_hook=Decimal)
_exact = msgspec.json.Encoder(decimal_format="number")
"""A value that passes from one operation to another keeps all digits of its numbers: Postgres' numeric is not a float."""


def parse_result(body: bytes) -> object:
    """Return the JSON value of a result, for references to it; the text itself where it is not JSON or its numbers are too long."""
    try:
        return _any.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, InvalidOperation):
        return body.decode("utf-8", "replace")


def parse_batch(data: bytes) -> list[BatchOperation]:
    """Read the operations of a body. Raises: BadBody."""
    try:
        operations = _operations.decode(data)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadBody("Empty or invalid json") from None
    if not 1 <= len(operations) <= MOST_OPERATIONS:
        raise _refused(f"there must be 1 to {MOST_OPERATIONS} operations")
    for number, operation in enumerate(operations):
        _check(number, operation)
    names = [name_of(number, operation) for number, operation in enumerate(operations)]
    if len(set(names)) < len(names):
        raise _refused("two operations have the same name")
    return operations


def name_of(number: int, operation: BatchOperation) -> str:
    """Return the name under which later operations find the result of this one."""
    return operation.as_ if operation.as_ is not None else str(number)


def resolved(operation: BatchOperation, results: Results, most: int) -> ResolvedOperation:
    """Insert the results of earlier operations in the place of references to them, `most` bytes of them at most.

    Raises: BadBody.
    """
    path, _, query = operation.path.partition("?")
    headers = [(name.lower(), value) for name, value in operation.headers.items()]
    body = bytes(operation.body)
    if _REFERENCE.encode() in body:
        try:
            body = _exact.encode(_replaced(_any.decode(body), results, _SizeBudget(most - len(body))))
        except RecursionError:
            raise _refused("values lie too deep inside one another") from None
        except (msgspec.DecodeError, InvalidOperation):
            raise _refused("a number beside a reference has too many digits") from None
    return ResolvedOperation(
        operation.method,
        _PLACEHOLDER.sub(lambda found: _inserted(found[1], results), path),
        _PLACEHOLDER.sub(lambda found: _inserted(found[1], results), query),
        headers,
        body,
    )


def _check(number: int, operation: BatchOperation) -> None:
    if operation.method not in METHODS:
        raise _refused(f"operation {number} has a method that is none of {', '.join(METHODS)}")
    if not operation.path.startswith("/") or operation.path.partition("?")[0] == "/":
        raise _refused(f"operation {number} needs a path below /rest/v1, as /orders?id=eq.1")
    unknown = [name for name in operation.headers if name.lower() not in _OWN_HEADERS]
    if unknown:
        raise _refused(f"operation {number} cannot set the header {unknown[0]}")


class _SizeBudget:
    """Bytes that references may still put into a body: results of results grow without end otherwise."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, value: object) -> object:
        """Count a value that is put in. Raises: BadBody."""
        self._left -= len(_exact.encode(value))
        if self._left < 0:
            raise _refused("its references make it too long")
        return value


def _replaced(value: object, results: Results, room: _SizeBudget) -> object:
    if isinstance(value, dict):
        if value.keys() == {_REFERENCE}:
            return room.take(_found(value[_REFERENCE], results))
        return {key: _replaced(inner, results, room) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, results, room) for inner in value]
    return value


def _inserted(reference: str, results: Results) -> str:
    value = _found(reference, results)
    if isinstance(value, str):
        return quote(value, safe="")
    if isinstance(value, dict | list):
        raise _refused(f"{reference} is no single value, so it cannot stand in a path")
    return quote(_exact.encode(value).decode(), safe="")


def _found(reference: object, results: Results) -> object:
    """Follow `name.0.column` into the results. Raises: BadBody."""
    if not isinstance(reference, str):
        raise _refused("a reference is a text such as order.0.id")
    name, *steps = reference.split(".")
    if name not in results:
        raise _refused(f"{reference} names no operation before this one")
    value = results[name]
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and (at := parse_whole_number(step, most=len(value) - 1)) is not None:
            value = value[at]
        else:
            raise _refused(f"{reference} is not in the result: ask for it with Prefer: return=representation")
    return value


def _refused(why: str) -> BadBody:
    return BadBody(f"The list of operations is wrong: {why}")
