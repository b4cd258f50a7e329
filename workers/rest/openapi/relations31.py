"""Relations in the OpenAPI 3.1 document: their schemas, and what may be done with them. Pure.

Each relation has three schemas: `name` is a whole row as it is read (`select` may ask for less, more or other names),
`name.update` the columns that may be written, `name.insert` the same with those that must be given.
Neither is closed: objects hold related rows as well when they are inserted with `nested=true`.
Source: docs/reference/rest.md, sections 1, 11 to 13 and 15; docs/rest-additions.md.
"""

from workers.database.schema_cache.catalog import Catalog, CatalogRelation
from workers.rest.openapi.components31 import (
    READ,
    REFUSED,
    RESERVED,
    added_to,
    filters_of,
    headers,
    parameter,
    profile_of,
    query_name,
)
from workers.rest.openapi.scope import Object, OpenApiOptions, summary_of
from workers.rest.openapi.types31 import TypeSchemas, component_key, reference

_TEXT = {"schema": {"type": "string"}}


# --- schemas -------------------------------------------------------------------------------------------------


def relation_schemas(relation: CatalogRelation, types: TypeSchemas) -> Object:
    """Return the schemas of a relation by key: read, updated, inserted."""
    key = component_key(relation.name)
    about: Object = {"description": relation.comment} if relation.comment else {}
    properties = {column.name: types.of_column(relation, column) for column in relation.columns.values()}
    always = [column.name for column in relation.columns.values() if not column.nullable]
    schemas: Object = {key: {"type": "object", **about, "properties": properties} | _required(always)}
    written = {name: shape for name, shape in properties.items() if "readOnly" not in shape}
    required = [name for name in always if name in written and relation.columns[name].default is None]
    if relation.insertable or relation.updatable:
        schemas[f"{key}.update"] = {"type": "object", "properties": written}
    if relation.insertable:
        schemas[f"{key}.insert"] = {"allOf": [reference(f"{key}.update")]} | _required(required)
    return schemas


def written_rows(relation: CatalogRelation, catalog: Catalog) -> Object:
    """Return, by key, the response of a write with `return=representation`; empty for a read-only relation."""
    if not (relation.insertable or relation.updatable or relation.deletable):
        return {}
    response_headers = headers("Content-Range", "Location", "Preference-Applied")
    content = _content(relation, catalog)
    description = "Written; with `return=representation` these are the rows"
    return {
        f"rows.{component_key(relation.name)}": {
            "description": description,
            "headers": response_headers,
            "content": content,
        }
    }


def _required(names: list[str]) -> Object:
    return {"required": names} if names else {}


# --- relations -----------------------------------------------------------------------------------------------


def relation_path(relation: CatalogRelation, catalog: Catalog, options: OpenApiOptions) -> Object:
    """Describe what may be done with a relation."""
    key = component_key(relation.name)
    about: Object = {"tags": [relation.name], **summary_of(relation.comment)}
    content, filters = _content(relation, catalog), filters_of(relation)
    path: Object = {
        "get": {**about, "operationId": f"read_{key}", **_read(relation, filters, content, options)}
    }
    if relation.insertable:
        path["post"] = {**about, "operationId": f"insert_{key}", **_insert(relation, options)}
    if relation.updatable:
        path["patch"] = {**about, "operationId": f"update_{key}", **_update(relation, filters, options)}
    key_is_plain = relation.primary_key and RESERVED.isdisjoint(relation.primary_key)
    if relation.insertable and relation.updatable and key_is_plain:
        path["put"] = {**about, "operationId": f"upsert_{key}", **_upsert(relation, options)}
    if relation.deletable:
        path["delete"] = {**about, "operationId": f"delete_{key}", **_delete(key, filters, options)}
    return path


def _content(relation: CatalogRelation, catalog: Catalog) -> Object:
    """Return the media types of rows: those built in, and those of the relation's handlers."""
    row = reference(component_key(relation.name))
    handler_types = (
        handler.media_type
        for handler in catalog.media_handlers
        if handler.relation == (relation.schema, relation.name)
    )
    return {
        "application/json": {"schema": {"type": "array", "items": row}},
        "application/vnd.pgrst.object+json": {"schema": row},
        "application/vnd.pgrst.object+json;nulls=stripped": {"schema": row},
        "text/csv": _TEXT,
    } | {("application/octet-stream" if name == "*/*" else name): _TEXT for name in handler_types}


def _read(
    relation: CatalogRelation, filters: list[Object], content: Object, options: OpenApiOptions
) -> Object:
    response_headers = headers("Content-Range", "Content-Location", "Preference-Applied", "ETag", "Link")
    return {
        "parameters": [
            *filters,
            *map(parameter, READ),
            *added_to(relation, "read"),
            parameter("ifNoneMatch"),
            *profile_of("Accept-Profile", options),
        ],
        "responses": {
            "200": {"description": "OK", "headers": response_headers, "content": content},
            "206": {"description": "Partial Content", "headers": response_headers, "content": content},
            "304": {"$ref": "#/components/responses/unchanged"},
            **REFUSED["read"],
        },
    }


def _insert(relation: CatalogRelation, options: OpenApiOptions) -> Object:
    key = component_key(relation.name)
    one = reference(f"{key}.insert")
    parameters = [
        *map(parameter, ("select", "columns", "on_conflict", "preferPost")),
        *added_to(relation, "insert"),
    ]
    return {
        "parameters": [*parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, {"type": "array", "items": one}]}, one),
        "responses": _answers(key, "200", "201") | REFUSED["write"],
    }


def _update(relation: CatalogRelation, filters: list[Object], options: OpenApiOptions) -> Object:
    key = component_key(relation.name)
    one = reference(f"{key}.update")
    parameters = [
        *map(parameter, ("select", "columns", "preferReturn", "ifMatch")),
        *added_to(relation, "update"),
    ]
    return {
        "parameters": [*filters, *parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, {"type": "array", "items": one}]}, one),
        "responses": _answers(key, "200", "204") | REFUSED["change"],
    }


def _upsert(relation: CatalogRelation, options: OpenApiOptions) -> Object:
    key = component_key(relation.name)
    one = reference(f"{key}.insert")
    only = {"type": "array", "items": one, "minItems": 1, "maxItems": 1}
    keys = [
        {"name": query_name(name), "in": "query", "required": True, "description": "The row's key",
         "schema": {"type": "string", "pattern": r"^eq\."}}
        for name in relation.primary_key
    ]  # fmt: skip
    parameters = map(parameter, ("select", "columns", "preferReturn", "ifMatch", "ifNoneMatch"))
    return {
        "parameters": [*keys, *parameters, *profile_of("Content-Profile", options)],
        "requestBody": _rows({"anyOf": [one, only]}, one),
        "responses": _answers(key, "200", "201", "204") | REFUSED["change"],
    }


def _delete(key: str, filters: list[Object], options: OpenApiOptions) -> Object:
    parameters = map(parameter, ("select", "preferReturn", "ifMatch"))
    return {
        "parameters": [*filters, *parameters, *profile_of("Content-Profile", options)],
        "responses": _answers(key, "200", "204") | REFUSED["change"],
    }


def _rows(json: Object, form: Object) -> Object:
    content = {
        "application/json": {"schema": json},
        "application/x-www-form-urlencoded": {"schema": form},
        "text/csv": _TEXT,
    }
    return {"required": True, "content": content}


def _answers(key: str, *statuses: str) -> Object:
    """Refer to the answers of a write: the rows where they are asked for, or nothing."""
    rows = {"$ref": f"#/components/responses/rows.{key}"}
    done = {"$ref": "#/components/responses/done"}
    return {status: done if status == "204" else rows for status in statuses}
