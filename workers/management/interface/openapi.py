"""The management interface as OpenAPI 3.1: one path for each operation, schemas made from the structs. Pure.

The reference pages are rendered from this document (`scripts/management-reference`). Members that begin with `x-`:

    x-rights, x-rights-to-change    the rights that an operation needs, and those for arguments that change something
    x-changes                       it needs a token that may write, and leaves a row in the audit log
    x-needs-confirmation            a session must have proved a password or a factor within ten minutes
    x-max-body-bytes                the longest body of a request whose body is JSON
    x-maximum-setting               the setting that is the maximum of a number (`argument_limits.py`)
"""

import inspect
from functools import cache
from typing import Any, get_args

import msgspec

from schemas.settings.documentation import docstrings
from workers.management.interface.operation import Operation

_REFERENCE = "#/components/schemas/{name}"


def openapi_document(operations: list[Operation]) -> dict[str, Any]:
    """Return the document."""
    types: list[Any] = [kind for operation in operations for kind in (operation.arguments, operation.result)]
    structs = _structs_in([*types, ManagementErrorBody])
    schemas, components = msgspec.json.schema_components([*types, *structs], ref_template=_REFERENCE)
    _describe_fields(components, structs, schemas[len(types) :])
    pairs = zip(schemas[: len(types) : 2], schemas[1 : len(types) : 2], strict=True)
    paths = {
        f"/operations/{operation.name}": {"post": _post(operation, arguments, result)}
        for operation, (arguments, result) in zip(operations, pairs, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headwater management", "version": "1"},
        "servers": [{"url": "/management/v1"}],
        "tags": [{"name": area} for area in dict.fromkeys(map(_area, operations))],
        "paths": paths,
        "components": {"schemas": components, "responses": _RESPONSES, "securitySchemes": _SECURITY},
        "security": [{"token": []}, {"session": []}],
    }


@cache
def openapi_body(operations: tuple[Operation, ...]) -> bytes:
    """Return the document as JSON. It is made once for the operations of a process, because whoever asks gets it."""
    return msgspec.json.encode(openapi_document(list(operations)))


class ManagementErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an error. Of SQL that the database rejected, `code` is the SQLSTATE."""

    code: str
    """What went wrong, for programs: it stays the same between versions."""
    message: str
    """What went wrong and what to do, for people."""
    hint: str = ""
    """What to do, if the message does not say it."""
    details: str = ""
    """Of SQL that the database rejected: its details."""
    position: int = 0
    """Of SQL that the database rejected: the character where the error is, counted from 1."""
    context: str = ""
    """Of SQL that the database rejected: the functions that ran."""


_SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token made by `headwater admin token`"},
    "session": {"type": "apiKey", "in": "cookie", "name": "headwater_session"},
}
_RESPONSES = {
    "Error": {
        "description": "An error: `code`, `message` and sometimes `hint`",
        "content": {
            "application/json": {"schema": {"$ref": _REFERENCE.format(name=ManagementErrorBody.__name__)}}
        },
    }
}


def _post(operation: Operation, arguments: Any, result: Any) -> dict[str, Any]:
    content: dict[str, Any] = {kind: {} for kind in operation.streams} or {
        "application/json": {"schema": result}
    }
    return {
        "operationId": operation.name,
        "tags": [_area(operation)],
        "summary": operation.summary,
        "description": inspect.cleandoc(operation.run.__doc__ or ""),
        "x-rights": operation.right.value,
        **({"x-rights-to-change": operation.write_right.value} if operation.write_right else {}),
        "x-changes": operation.changes,
        "x-needs-confirmation": operation.is_confirmed,
        **({} if operation.takes_body else {"x-max-body-bytes": operation.max_body_bytes}),
        **_request(operation, arguments),
        "responses": {
            "200": {"description": "The result", "content": content},
            "default": {"$ref": "#/components/responses/Error"},
        },
    }


def _area(operation: Operation) -> str:
    """Return the part of the name before the dot."""
    return operation.name.partition(".")[0]


def _request(operation: Operation, arguments: Any) -> dict[str, Any]:
    """Return where the arguments stand: in the body, or in the query beside a body of data."""
    content = {"application/json": {"schema": arguments}}
    if not operation.takes_body:
        return {"requestBody": {"content": content}}
    return {
        "parameters": [{"name": "arguments", "in": "query", "content": content}],
        "requestBody": {"content": {"application/octet-stream": {}}},
    }


def _structs_in(types: list[Any]) -> list[type[msgspec.Struct]]:
    """Return every struct that the types contain, in the order in which they are met."""
    structs: dict[type[msgspec.Struct], None] = {}
    waiting = list(reversed(types))
    while waiting:
        kind = waiting.pop()
        waiting += reversed(get_args(kind))
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in structs:
            structs[kind] = None
            waiting += [field.type for field in reversed(msgspec.structs.fields(kind))]
    return list(structs)


def _describe_fields(
    components: dict[str, Any], structs: list[type[msgspec.Struct]], references: Any
) -> None:
    """Add the texts under the fields of the structs to the schemas of the fields; remove the indentation of all texts."""
    for schema in components.values():
        if "description" in schema:
            schema["description"] = inspect.cleandoc(schema["description"])
    for struct, reference in zip(structs, references, strict=True):
        properties = components[reference["$ref"].rpartition("/")[2]].get("properties", {})
        texts = docstrings(struct)
        for field in msgspec.structs.fields(struct):
            if text := texts.get(field.name):
                properties[field.encode_name]["description"] = " ".join(text.split())
