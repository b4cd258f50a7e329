"""Every limit that the OpenAPI document shows is one: what is beyond is answered 400, with the name of the argument."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.openapi import openapi_body
from workers.management.operations import operation_table
from workers.management.worker import ManagementWorker

ROOT = Path(__file__).parents[4]
DOCUMENT: dict[str, Any] = msgspec.json.decode(openapi_body(tuple(operation_table().all())))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
EXAMPLES: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "scripts" / "management-examples.json").read_text(encoding="utf-8")
)
_PLAIN: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": ["x"],
    "object": {"x": "x"},
}


def arguments_schema(post: dict[str, Any]) -> dict[str, Any]:
    holder = post["parameters"][0] if "parameters" in post else post["requestBody"]
    reference: str = holder["content"]["application/json"]["schema"]["$ref"]
    schema: dict[str, Any] = SCHEMAS[reference.rpartition("/")[2]]
    return schema


def plain_arguments(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that an operation takes: those of its example, else the required ones with a plain value."""
    if name in EXAMPLES:
        return EXAMPLES[name] | ({"schema": "limits"} if name.startswith("rows.") else {})
    required = {member: schema["properties"][member] for member in schema.get("required", ())}
    return {member: plain_value(value) for member, value in required.items()}


def plain_value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("items", {}).get("type") == "integer":
        return [1]
    return _PLAIN[schema["type"]]


def beyond(schema: dict[str, Any]) -> Iterator[Any]:
    """Return values that are just outside of the limits of an argument."""
    if "minimum" in schema:
        yield schema["minimum"] - 1
        yield schema.get("maximum", 1000) + 1
    if "minLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
        yield from ("x" * (least - 1) for least in [schema["minLength"]] if least)
    if "maxItems" in schema:
        numbers = range(1, schema["maxItems"] + 2)
        yield from (
            *([[]] if schema.get("minItems") else []),
            [number if schema["items"].get("type") == "integer" else f"{number}" for number in numbers],
        )
    if "maxProperties" in schema:
        yield from ({}, {f"x{number}": "x" for number in range(schema["maxProperties"] + 1)})
    if "enum" in schema:
        yield "no such value"


def cases() -> Iterator[tuple[str, str]]:
    for path in DOCUMENT["paths"].values():
        for argument, member in arguments_schema(path["post"])["properties"].items():
            if any(True for part in member.get("anyOf", [member]) for _ in beyond(part)):
                yield path["post"]["operationId"], argument


@pytest.fixture(scope="module", autouse=True)
async def items(worker: tuple[ManagementWorker, str]) -> AsyncIterator[None]:
    """The table of the examples, in a schema of its own."""
    connection = await asyncpg.connect(worker[1])
    try:
        await connection.execute(
            "create schema limits; create table limits.items (id int primary key, name text, price int);"
            " grant usage on schema limits to postgres, supabase_read_only_user;"
            " grant all on limits.items to postgres, supabase_read_only_user"
        )
        yield
        await connection.execute("drop schema limits cascade")
    finally:
        await connection.close()


@pytest.mark.parametrize(("name", "argument"), list(cases()))
async def test_what_is_beyond_a_limit_is_refused(owner: Client, name: str, argument: str) -> None:
    post = DOCUMENT["paths"][f"/operations/{name}"]["post"]
    schema = arguments_schema(post)
    member = schema["properties"][argument]

    for part in member.get("anyOf", [member]):
        for value in beyond(part):
            arguments = {**plain_arguments(name, schema), argument: value}
            if "parameters" in post:
                query = f"arguments={json.dumps(arguments)}"
                response = await owner.send("POST", f"/operations/{name}", query=query, upload=(b"",))
            else:
                response = await owner.send("POST", f"/operations/{name}", arguments)
            body = json.loads(response.body)

            assert (response.status, body["code"]) == (400, "invalid_arguments"), (str(value)[:80], body)
            assert argument in body["message"], body
