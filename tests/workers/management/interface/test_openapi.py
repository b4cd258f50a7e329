"""The OpenAPI document of the operations holds against the specification, and describes what they take and return."""

from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from workers.management.interface.openapi import openapi_body
from workers.management.operations import operation_table

OPERATIONS = operation_table()
DOCUMENT: dict[str, Any] = msgspec.json.decode(openapi_body(tuple(OPERATIONS.all())))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


def described(name: str) -> dict[str, Any]:
    post: dict[str, Any] = DOCUMENT["paths"][f"/operations/{name}"]["post"]
    return post


def test_the_document_is_openapi_3_1() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)

    assert [str(error) for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_operation_has_its_rights() -> None:
    for operation in OPERATIONS.all():
        post = described(operation.name)

        assert post["x-rights"] == operation.right
        assert post["x-changes"] == operation.changes
        assert post["x-needs-confirmation"] == operation.is_confirmed
        assert post["summary"]
        assert post["description"], operation.name


def test_arguments_beside_a_body_are_in_the_query() -> None:
    taking = [operation for operation in OPERATIONS.all() if operation.takes_body]

    assert taking
    for operation in taking:
        post = described(operation.name)
        assert [parameter["name"] for parameter in post["parameters"]] == ["arguments"]
        assert "x-max-body-bytes" not in post


def test_a_longer_body_is_named() -> None:
    longer = {operation.name: operation for operation in OPERATIONS.all() if not operation.takes_body}

    assert {name: described(name)["x-max-body-bytes"] for name in longer} == {
        name: operation.max_body_bytes for name, operation in longer.items()
    }


def test_texts_under_fields_are_their_descriptions() -> None:
    assert SCHEMAS["SettingEntry"]["properties"]["variable"]["description"] == (
        "The environment variable that would override it."
    )


def test_every_struct_says_what_it_is() -> None:
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_texts_are_not_indented() -> None:
    texts = [post["post"]["description"] for post in DOCUMENT["paths"].values()]
    texts += [schema["description"] for schema in SCHEMAS.values()]

    assert [text for text in texts if "\n    " in text] == []


def test_names_of_structs_are_not_qualified() -> None:
    assert [name for name in SCHEMAS if "_" in name or "." in name] == []


def test_every_operation_names_the_body_of_errors() -> None:
    answers = {described(operation.name)["responses"]["default"]["$ref"] for operation in OPERATIONS.all()}

    assert answers == {"#/components/responses/Error"}
    assert set(SCHEMAS["ManagementErrorBody"]["required"]) == {"code", "message"}
