"""The description of the interface as OpenAPI 3.1: catalog -> document with JSON Schema 2020-12. Pure.

The Swagger 2.0 document of the same catalog (`openapi.py`) is what callers get who do not ask for this one.
Source: OpenAPI Specification 3.1; docs/reference/rest.md, section 17.
"""

from urllib.parse import quote

from workers.database.schema_cache.catalog import Catalog, CatalogRelation
from workers.rest.openapi.components31 import (
    REFUSED,
    error_schema,
    parameters_of,
    response_headers,
    security_schemes,
    shared_responses,
)
from workers.rest.openapi.functions31 import function_path
from workers.rest.openapi.named_types import NamedTypes
from workers.rest.openapi.relations31 import relation_path, relation_schemas, written_rows
from workers.rest.openapi.scope import Object, OpenApiOptions, VisibleObjects, described, scope_of, summary_of
from workers.rest.openapi.types31 import TypeSchemas
from workers.rest.parse.batch import METHODS, MOST_OPERATIONS


def openapi31_document(
    catalog: Catalog, schema: str, visible: VisibleObjects | None, named: NamedTypes, options: OpenApiOptions
) -> Object:
    """Describe what a role may use of a schema (`visible` None: everything in it)."""
    scope = scope_of(catalog, schema, visible)
    if visible is not None:
        catalog = described(catalog, scope)
    types = TypeSchemas(catalog, named, frozenset((item.schema, item.name) for item in scope.relations))
    paths: Object = {"/": _root_path()}
    for relation in scope.relations:
        paths[f"/{quote(relation.name, safe='')}"] = relation_path(relation, catalog, options)
    for overloads in scope.functions:
        name = quote(overloads[0].name, safe="")
        paths[f"/rpc/{name}"] = function_path(overloads, scope, catalog, named, types, options)
    schemas: Object = {"error.body": error_schema(options)}
    responses = shared_responses()
    for relation in scope.relations:
        responses |= written_rows(relation, catalog)
        schemas |= relation_schemas(relation, types)
    components: Object = {
        "schemas": schemas | types.composites,
        "parameters": parameters_of(scope.relations, options, schema),
        "headers": response_headers(),
        "responses": responses,
    }
    document: Object = {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": _info(catalog.schemas.get(schema), schema, options.version),
        "servers": [{"url": options.proxy_uri or "."}],
        "tags": _tags(scope.relations),
        "paths": paths,
        "components": components,
    }
    if options.security_active:
        components["securitySchemes"] = security_schemes()
        document["security"] = [{"apikey": []}, {"apikey": [], "bearer": []}]
    return document


def _info(comment: str | None, schema: str, version: str) -> Object:
    summary = summary_of(comment)
    return {
        "title": summary.get("summary", "Headwater REST API"),
        "description": summary.get("description", f"Tables, views and functions of the schema {schema}"),
        "version": version,
    }


def _tags(relations: list[CatalogRelation]) -> list[Object]:
    return [
        {"name": relation.name, **({"description": relation.comment} if relation.comment else {})}
        for relation in relations
    ]


def _root_path() -> Object:
    kinds = ("application/openapi+json", "application/vnd.oai.openapi+json;version=3.1")
    described = {kind: {"schema": {"type": "object"}} for kind in kinds}
    several = {"schema": {"type": "array", "items": _operation(), "minItems": 1, "maxItems": MOST_OPERATIONS}}
    results = {"schema": {"type": "array", "items": _result()}}
    return {
        "get": {
            "tags": ["Introspection"],
            "summary": "OpenAPI description (this document)",
            "operationId": "describe",
            "responses": {"200": {"description": "OK", "content": described}, **REFUSED["read"]},
        },
        "post": {
            "tags": ["Transactions"],
            "summary": "Several operations, of which all happen or none",
            "operationId": "operate",
            "requestBody": {"required": True, "content": {"application/json": several}},
            "responses": {
                "200": {"description": "All have happened", "content": {"application/json": results}},
                **REFUSED["call"],
            },
        },
    }


def _operation() -> Object:
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "method": {"type": "string", "enum": list(METHODS)},
            "path": {"type": "string", "pattern": "^/[^?]"},
            "headers": {**texts, "description": "Prefer, Accept, Range, Content-Type and the profiles"},
            "body": {
                "description": 'Its `{"$ref": "name.0.column"}` stand for results of earlier operations'
            },
            "as": {"type": ["string", "null"], "description": "Name of the result; its number when absent"},
        },
        "required": ["method", "path"],
        "additionalProperties": False,
    }


def _result() -> Object:
    return {
        "type": "object",
        "properties": {
            "as": {"type": "string"},
            "status": {"type": "integer"},
            "headers": {"type": "object"},
            "body": {},
        },
        "required": ["as", "status"],
    }
