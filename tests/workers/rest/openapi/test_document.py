"""The description in Swagger 2.0: reference page, section 17."""

from typing import Any

import pytest

from tests.workers.rest.plan.catalogs import CATALOG
from workers.rest.openapi.document import openapi_document
from workers.rest.openapi.scope import OpenApiOptions


@pytest.mark.parametrize(
    ("function", "formats"),
    [("add", {"a": "int32", "b": "int32"}), ("sentence", {"glue": "text", "words": "text"})],
)
def test_parameters_of_a_function_have_the_format_of_their_type(
    function: str, formats: dict[str, str]
) -> None:
    options = OpenApiOptions(None, "localhost:3000", security_active=False)
    document: Any = openapi_document(CATALOG, "public", None, options)

    parameters = document["paths"][f"/rpc/{function}"]["get"]["parameters"]
    shapes = {parameter["name"]: parameter.get("items", parameter) for parameter in parameters}
    assert {name: shape["format"] for name, shape in shapes.items()} == formats
