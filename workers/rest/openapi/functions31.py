"""Functions in the OpenAPI 3.1 document. Pure. Source: docs/reference/rest.md, section 14."""

from workers.database.schema_cache.catalog import (
    Catalog,
    CatalogArgument,
    CatalogFunction,
    CatalogRelation,
    Returns,
)
from workers.rest.openapi.components31 import (
    REFUSED,
    RESERVED,
    SHAPING,
    filters_of,
    headers,
    parameter,
    profile_of,
    query_name,
)
from workers.rest.openapi.named_types import NamedTypes
from workers.rest.openapi.scope import DescribedScope, Object, OpenApiOptions, summary_of
from workers.rest.openapi.types31 import TypeSchemas, component_key, nullable, reference

_RAW = {"json": "application/json", "jsonb": "application/json", "text": "text/plain", "xml": "text/xml", "bytea": "application/octet-stream"}  # fmt: skip
"""Media types of the body that is a function's single unnamed argument."""


def function_path(
    overloads: tuple[CatalogFunction, ...],
    scope: DescribedScope,
    catalog: Catalog,
    named: NamedTypes,
    types: TypeSchemas,
    options: OpenApiOptions,
) -> Object:
    """Describe a function with all its overloads: POST always; GET if one is not volatile and its arguments have names."""
    name = overloads[0].name
    about: Object = {"tags": [f"(rpc) {name}"], **summary_of(overloads[0].comment)}
    answers = _answers(overloads, scope, catalog, named, types)
    post = {
        **about,
        "operationId": f"call_{component_key(name)}",
        "parameters": [
            *_shaping(overloads, scope, set()),
            parameter("preferParams"),
            *profile_of("Content-Profile", options),
        ],
        **_body(overloads, types),
        "responses": answers,
    }
    stable = tuple(
        overload for overload in overloads if overload.volatility != "v" and not _takes_body(overload)
    )
    if not stable:
        return {"post": post}
    arguments = _arguments(stable, types)
    argument_names = {str(argument["name"]) for argument in arguments}
    get = {
        **about,
        "operationId": f"query_{component_key(name)}",
        "parameters": [
            *arguments,
            *_shaping(stable, scope, argument_names),
            *map(parameter, ("range", "rangeUnit", "preferParams")),
            *profile_of("Accept-Profile", options),
        ],
        "responses": answers,
    }
    return {"get": get, "post": post}


def _shaping(
    overloads: tuple[CatalogFunction, ...], scope: DescribedScope, argument_names: set[str]
) -> list[Object]:
    """Return the parameters that shape rows, and the filters of the relation they belong to, if they are rows."""
    if not any(overload.returns is Returns.COMPOSITE for overload in overloads):
        return []
    described = (_returned(overload, scope) for overload in overloads)
    relation = next((relation for relation in described if relation is not None), None)
    filters = filters_of(relation) if relation else []
    if relation and argument_names:
        columns = [name for name in relation.columns if name not in RESERVED]
        filters = [
            item
            for name, item in zip(columns, filters, strict=True)
            if query_name(name) not in argument_names
        ]
    return [*filters, *map(parameter, SHAPING)]


def _returned(function: CatalogFunction, scope: DescribedScope) -> CatalogRelation | None:
    """Return the relation whose rows a function returns, if it is described."""
    collected = (
        relation
        for relation in scope.relations
        if (relation.schema, relation.name) == function.returned_relation
    )
    return next(collected, None)


def _takes_body(function: CatalogFunction) -> bool:
    """Return whether the body as a whole is the one, unnamed argument: such a function cannot be called with GET."""
    return any(not argument.name for argument in function.arguments)


def _body(overloads: tuple[CatalogFunction, ...], types: TypeSchemas) -> Object:
    """Describe the body: an object of arguments, or the one unnamed argument as it is."""
    shapes: dict[str, list[Object]] = {}
    for function in overloads:
        if _takes_body(function):
            first = function.arguments[0]
            shapes.setdefault(_RAW[first.type], []).append(
                types.of(first.type) if first.type != "bytea" else {"type": "string", "format": "binary"}
            )
            continue
        shapes.setdefault("application/json", []).append(_object(function, types))
    required = all(any(argument.is_required for argument in function.arguments) for function in overloads)
    content = {media: {"schema": _either(collected)} for media, collected in shapes.items()}
    return {"requestBody": {"required": required, "content": content}}


def _object(function: CatalogFunction, types: TypeSchemas) -> Object:
    required = [argument.name for argument in function.arguments if argument.is_required]
    shape: Object = {
        "type": "object",
        "properties": {argument.name: nullable(types.of(argument.type)) for argument in function.arguments},
        "additionalProperties": False,
    }
    return shape | ({"required": required} if required else {})


def _either(shapes: list[Object]) -> Object:
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def _arguments(overloads: tuple[CatalogFunction, ...], types: TypeSchemas) -> list[Object]:
    """Return the arguments as query parameters; of several overloads, those that all demand are required."""
    collected: dict[str, list[CatalogArgument]] = {}
    for function in overloads:
        for argument in function.arguments:
            if argument.name and argument.name not in RESERVED:
                collected.setdefault(argument.name, []).append(argument)
    return [
        {
            "name": name,
            "in": "query",
            "required": len(same) == len(overloads) and all(argument.is_required for argument in same),
            **_as_text(same[0], types),
        }
        for name, same in collected.items()
    ]


def _as_text(argument: CatalogArgument, types: TypeSchemas) -> Object:
    """Describe how an argument is written in a URL: JSON as itself, arrays and rows in Postgres' own way."""
    if argument.type in ("json", "jsonb"):
        return {"content": {"application/json": {"schema": {}}}}
    shape = types.of(argument.type)
    if argument.is_variadic:
        return {"schema": shape, "style": "form", "explode": True}
    is_plain = shape.get("type") in ("integer", "number", "boolean", "string")
    return {"schema": shape if is_plain else {"type": "string", "format": argument.type}}


def _answers(
    overloads: tuple[CatalogFunction, ...],
    scope: DescribedScope,
    catalog: Catalog,
    named: NamedTypes,
    types: TypeSchemas,
) -> Object:
    """Return the answers; what differs between overloads stands side by side."""
    counted = headers("Content-Range", "Preference-Applied")
    returning = [overload for overload in overloads if overload.returns is not Returns.VOID]
    answers: Object = {}
    if returning:
        results = [_result(function, scope, named, types) for function in returning]
        rows = [
            items if isinstance(items := shape.get("items"), dict) else shape
            for function, shape in zip(returning, results, strict=True)
            if function.returns is Returns.COMPOSITE
        ]
        content = _content(returning, _either(_distinct(results)), _distinct(rows), catalog)
        answers["200"] = {"description": "OK", "headers": counted, "content": content}
        answers["206"] = {"description": "Partial Content", "headers": counted, "content": content}
    if len(returning) < len(overloads):
        answers["204"] = {"$ref": "#/components/responses/done"}
    return answers | REFUSED["call"]


def _content(returning: list[CatalogFunction], shape: Object, rows: list[Object], catalog: Catalog) -> Object:
    """Return the media types of the answers: JSON, a single row and CSV if they are rows, and those of media type domains."""
    content: Object = {"application/json": {"schema": shape}}
    if rows:
        content["application/vnd.pgrst.object+json"] = {"schema": _either(rows)}
        content["text/csv"] = {"schema": {"type": "string"}}
    names = {(function.schema, function.name) for function in returning}
    for handler in catalog.media_handlers:
        if handler.is_scalar and handler.function in names:
            name = "application/octet-stream" if handler.media_type == "*/*" else handler.media_type
            content[name] = {"schema": {"type": "string"}}
    return content


def _distinct(shapes: list[Object]) -> list[Object]:
    return [shape for place, shape in enumerate(shapes) if shape not in shapes[:place]]


def _result(
    function: CatalogFunction, scope: DescribedScope, named: NamedTypes, types: TypeSchemas
) -> Object:
    relation = _returned(function, scope)
    result = named.result_of(function)
    if relation is not None:
        shape = reference(component_key(relation.name))
    elif result is None:
        shape = {}
    elif result.columns is not None and function.returns is Returns.COMPOSITE:
        properties = {column.name: nullable(types.of(column.type)) for column in result.columns}
        shape = {"type": "object", "properties": properties}
    else:
        shape = types.of(result.type)
    if function.returns_set:
        items = shape if function.returns is Returns.COMPOSITE else nullable(shape)
        return {"type": "array", "items": items}
    return nullable(shape)
