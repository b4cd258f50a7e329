"""The management interface as OpenAPI 3.1: one path for each operation, schemas made from the structs. Pure."""

from typing import Any

import msgspec

from workers.management.operation import Operation

_REFERENCE = "#/components/schemas/{name}"


def openapi_document(operations: list[Operation]) -> dict[str, Any]:
    """Return the document."""
    types: list[Any] = [kind for operation in operations for kind in (operation.arguments, operation.result)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    pairs = zip(schemas[::2], schemas[1::2], strict=True)
    paths = {
        f"/operations/{operation.name}": {"post": _post(operation, arguments, result)}
        for operation, (arguments, result) in zip(operations, pairs, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headwater management", "version": "1"},
        "servers": [{"url": "/management/v1"}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
        "security": [{"token": []}, {"session": []}],
    }


_SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token made by `headwater admin token`"},
    "session": {"type": "apiKey", "in": "cookie", "name": "headwater_session"},
}


def _post(operation: Operation, arguments: Any, result: Any) -> dict[str, Any]:
    content: dict[str, Any] = {kind: {} for kind in operation.streams} or {
        "application/json": {"schema": result}
    }
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": (operation.run.__doc__ or "").strip(),
        "x-rights": operation.right.value,
        **({"x-rights-to-change": operation.write_right.value} if operation.write_right else {}),
        "x-changes": operation.changes,
        "x-needs-confirmation": operation.is_confirmed,
        **_request(operation, arguments),
        "responses": {
            "200": {"description": "The result", "content": content},
            "default": {"description": "An error: `code`, `message` and sometimes `hint`"},
        },
    }


def _request(operation: Operation, arguments: Any) -> dict[str, Any]:
    """Return where the arguments stand: in the body, or in the query beside a body of data."""
    content = {"application/json": {"schema": arguments}}
    if not operation.takes_body:
        return {"requestBody": {"content": content}}
    return {
        "parameters": [{"name": "arguments", "in": "query", "content": content}],
        "requestBody": {"content": {"application/octet-stream": {}}},
    }
