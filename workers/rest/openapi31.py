"""The description of the interface as OpenAPI 3.1: catalog -> document with JSON Schema 2020-12. Pure.

The Swagger 2.0 document of the same catalog (`openapi.py`) is what callers get who do not ask for this one. Each relation
has three schemas: `name` is a whole row as it is read (`select` may ask for less, more or other names), `name.update` the
columns that may be written, `name.insert` the same with those that must be given.
Source: OpenAPI Specification 3.1; reference page "rest", sections 1, 11 to 15 and 17.
"""

from urllib.parse import quote

from workers.database.catalog import Catalog, Relation
from workers.rest.openapi31_components import (
    READ,
    RESERVED,
    error_schema,
    filters_of,
    headers,
    parameter,
    parameters_of,
    profile_of,
    query_name,
    refusals,
    refused,
    response_headers,
    security_schemes,
)
from workers.rest.openapi31_functions import function_path
from workers.rest.openapi31_types import Types, component_key, reference
from workers.rest.openapi_named import Named
from workers.rest.openapi_scope import Object, OpenApiOptions, Visible, scope_of, summary_of

_TEXT = {"schema": {"type": "string"}}


def openapi31_document(
    catalog: Catalog, schema: str, visible: Visible | None, named: Named, options: OpenApiOptions
) -> Object:
    """Describe what a role may use of a schema (`visible` None: everything in it)."""
    scope = scope_of(catalog, schema, visible)
    types = Types(catalog, named, frozenset((each.schema, each.name) for each in scope.relations))
    paths: Object = {"/": _root_path()}
    for relation in scope.relations:
        paths[f"/{quote(relation.name, safe='')}"] = _relation_path(relation, catalog, options)
    for overloads in scope.functions:
        name = quote(overloads[0].name, safe="")
        paths[f"/rpc/{name}"] = function_path(overloads, scope, catalog, named, types, options)
    schemas: Object = {"error.body": error_schema(options)}
    for relation in scope.relations:
        schemas |= _schemas(relation, types)
    components: Object = {
        "schemas": schemas | types.composites,
        "parameters": parameters_of(scope.relations, options, schema),
        "headers": response_headers(),
        "responses": refusals(),
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
    told = summary_of(comment)
    return {
        "title": told.get("summary", "Headwater REST API"),
        "description": told.get("description", f"Tables, views and functions of the schema {schema}"),
        "version": version,
    }


def _tags(relations: list[Relation]) -> list[Object]:
    return [
        {"name": each.name, **({"description": each.comment} if each.comment else {})} for each in relations
    ]


def _root_path() -> Object:
    kinds = ("application/openapi+json", "application/vnd.oai.openapi+json;version=3.1")
    return {
        "get": {
            "tags": ["Introspection"],
            "summary": "OpenAPI description (this document)",
            "operationId": "describe",
            "responses": {
                "200": {
                    "description": "OK",
                    "content": {kind: {"schema": {"type": "object"}} for kind in kinds},
                },
                **refused("read"),
            },
        }
    }


# --- schemas -------------------------------------------------------------------------------------------------


def _schemas(relation: Relation, types: Types) -> Object:
    """Give the schemas of a relation: read, updated, inserted."""
    key = component_key(relation.name)
    about: Object = {"description": relation.comment} if relation.comment else {}
    properties = {each.name: types.of_column(relation, each) for each in relation.columns.values()}
    always = [each.name for each in relation.columns.values() if not each.nullable]
    found: Object = {key: {"type": "object", **about, "properties": properties} | _required(always)}
    written = {name: shape for name, shape in properties.items() if "readOnly" not in shape}
    given = [name for name in always if name in written and relation.columns[name].default is None]
    if relation.insertable or relation.updatable:
        found[f"{key}.update"] = {"type": "object", "properties": written, "additionalProperties": False}
    if relation.insertable:
        found[f"{key}.insert"] = {"allOf": [reference(f"{key}.update")]} | _required(given)
    return found


def _required(names: list[str]) -> Object:
    return {"required": names} if names else {}


# --- relations -----------------------------------------------------------------------------------------------


def _relation_path(relation: Relation, catalog: Catalog, options: OpenApiOptions) -> Object:
    key = component_key(relation.name)
    about: Object = {"tags": [relation.name], **summary_of(relation.comment)}
    content = _content(relation, catalog)
    path: Object = {"get": {**about, "operationId": f"read_{key}", **_read(relation, content, options)}}
    if relation.insertable:
        path["post"] = {**about, "operationId": f"insert_{key}", **_insert(key, content, options)}
    if relation.updatable:
        path["patch"] = {**about, "operationId": f"update_{key}", **_update(relation, content, options)}
    key_is_plain = relation.primary_key and RESERVED.isdisjoint(relation.primary_key)
    if relation.insertable and relation.updatable and key_is_plain:
        path["put"] = {**about, "operationId": f"upsert_{key}", **_upsert(relation, content, options)}
    if relation.deletable:
        path["delete"] = {**about, "operationId": f"delete_{key}", **_delete(relation, content, options)}
    return path


def _content(relation: Relation, catalog: Catalog) -> Object:
    """Give the media types of rows: those built in, and those of the relation's handlers."""
    row = reference(component_key(relation.name))
    own = (
        each.media_type
        for each in catalog.media_handlers
        if each.relation == (relation.schema, relation.name)
    )
    return {
        "application/json": {"schema": {"type": "array", "items": row}},
        "application/vnd.pgrst.object+json": {"schema": row},
        "application/vnd.pgrst.object+json;nulls=stripped": {"schema": row},
        "text/csv": _TEXT,
    } | {("application/octet-stream" if name == "*/*" else name): _TEXT for name in own}


def _read(relation: Relation, content: Object, options: OpenApiOptions) -> Object:
    told = headers("Content-Range", "Content-Location", "Preference-Applied")
    return {
        "parameters": [*filters_of(relation), *map(parameter, READ), *profile_of("Accept-Profile", options)],
        "responses": {
            "200": {"description": "OK", "headers": told, "content": content},
            "206": {"description": "Partial Content", "headers": told, "content": content},
            **refused("read"),
        },
    }


def _insert(key: str, content: Object, options: OpenApiOptions) -> Object:
    told = headers("Content-Range", "Preference-Applied")
    one = reference(f"{key}.insert")
    parameters = map(parameter, ("select", "columns", "on_conflict", "preferPost"))
    created = {"description": "Created", "headers": told | headers("Location"), "content": content}
    return {
        "parameters": [*parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, {"type": "array", "items": one}]}, one),
        "responses": {
            "200": {"description": "All rows were there already", "headers": told, "content": content},
            "201": created,
            **refused("write"),
        },
    }


def _update(relation: Relation, content: Object, options: OpenApiOptions) -> Object:
    one = reference(f"{component_key(relation.name)}.update")
    only = {"type": "array", "items": one, "maxItems": 1}
    parameters = map(parameter, ("select", "columns", "preferReturn"))
    return {
        "parameters": [*filters_of(relation), *parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, only]}, one),
        "responses": _changed(content),
    }


def _upsert(relation: Relation, content: Object, options: OpenApiOptions) -> Object:
    one = reference(f"{component_key(relation.name)}.insert")
    only = {"type": "array", "items": one, "minItems": 1, "maxItems": 1}
    keys = [
        {"name": query_name(name), "in": "query", "required": True, "description": "The row's key",
         "schema": {"type": "string", "pattern": r"^eq\."}}
        for name in relation.primary_key
    ]  # fmt: skip
    parameters = map(parameter, ("select", "columns", "preferReturn"))
    created = {
        "201": {"description": "Created", "headers": headers("Preference-Applied"), "content": content}
    }
    return {
        "parameters": [*keys, *parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, only]}, one),
        "responses": _changed(content) | created,
    }


def _delete(relation: Relation, content: Object, options: OpenApiOptions) -> Object:
    parameters = map(parameter, ("select", "preferReturn"))
    return {
        "parameters": [*filters_of(relation), *parameters, *profile_of("Content-Profile", options)],
        "responses": _changed(content),
    }


def _rows(json: Object, form: Object) -> Object:
    content = {
        "application/json": {"schema": json},
        "application/x-www-form-urlencoded": {"schema": form},
        "text/csv": _TEXT,
    }
    return {"required": True, "content": content}


def _changed(content: Object) -> Object:
    told = headers("Content-Range", "Preference-Applied")
    return {
        "200": {"description": "OK, with the rows asked for", "headers": told, "content": content},
        "204": {"description": "No Content", "headers": told},
        **refused("write"),
        "405": {"$ref": "#/components/responses/refused.405"},
    }
