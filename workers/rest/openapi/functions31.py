"""Functions in the OpenAPI 3.1 document. Pure. Source: reference page "rest", section 14."""

from workers.database.catalog import Argument, Catalog, Function, Relation, Returns
from workers.rest.openapi.components31 import (
    READ,
    REFUSED,
    RESERVED,
    filters_of,
    headers,
    parameter,
    profile_of,
    query_name,
)
from workers.rest.openapi.names import Named
from workers.rest.openapi.scope import Object, OpenApiOptions, Scope, summary_of
from workers.rest.openapi.types31 import Types, component_key, nullable, reference

_RAW = {"json": "application/json", "jsonb": "application/json", "text": "text/plain", "xml": "text/xml", "bytea": "application/octet-stream"}  # fmt: skip
"""Media types of the body that is a function's single unnamed argument."""


def function_path(
    overloads: tuple[Function, ...],
    scope: Scope,
    catalog: Catalog,
    named: Named,
    types: Types,
    options: OpenApiOptions,
) -> Object:
    """Describe a function with all its overloads: POST always, GET when one of them changes nothing."""
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
    stable = tuple(each for each in overloads if each.volatility != "v" and not _takes_body(each))
    if not stable:
        return {"post": post}
    own = _arguments(stable, types)
    taken = {str(each["name"]) for each in own}
    get = {
        **about,
        "operationId": f"query_{component_key(name)}",
        "parameters": [
            *own,
            *_shaping(stable, scope, taken),
            *map(parameter, ("range", "rangeUnit", "preferParams")),
            *profile_of("Accept-Profile", options),
        ],
        "responses": answers,
    }
    return {"get": get, "post": post}


def _shaping(overloads: tuple[Function, ...], scope: Scope, taken: set[str]) -> list[Object]:
    """Give the parameters that shape rows, and the filters of the relation they belong to, if they are rows."""
    if not any(each.returns is Returns.COMPOSITE for each in overloads):
        return []
    relation = _returned(overloads[0], scope)
    filters = filters_of(relation) if relation else []
    if relation and taken:
        kept = [name for name in relation.columns if name not in RESERVED]
        filters = [each for name, each in zip(kept, filters, strict=True) if query_name(name) not in taken]
    return [*filters, *map(parameter, READ[:6])]


def _returned(function: Function, scope: Scope) -> Relation | None:
    """Give the relation whose rows a function returns, if it is described."""
    found = (each for each in scope.relations if (each.schema, each.name) == function.returned_relation)
    return next(found, None)


def _takes_body(function: Function) -> bool:
    """Tell whether the body as a whole is the one, unnamed argument: such a function cannot be read."""
    return any(not each.name for each in function.arguments)


def _body(overloads: tuple[Function, ...], types: Types) -> Object:
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
    required = all(any(each.is_required for each in function.arguments) for function in overloads)
    content = {media: {"schema": _either(found)} for media, found in shapes.items()}
    return {"requestBody": {"required": required, "content": content}}


def _object(function: Function, types: Types) -> Object:
    required = [each.name for each in function.arguments if each.is_required]
    shape: Object = {
        "type": "object",
        "properties": {each.name: nullable(types.of(each.type)) for each in function.arguments},
        "additionalProperties": False,
    }
    return shape | ({"required": required} if required else {})


def _either(shapes: list[Object]) -> Object:
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def _arguments(overloads: tuple[Function, ...], types: Types) -> list[Object]:
    """Give the arguments as query parameters; of several overloads, those that all demand are required."""
    found: dict[str, list[Argument]] = {}
    for function in overloads:
        for each in function.arguments:
            if each.name and each.name not in RESERVED:
                found.setdefault(each.name, []).append(each)
    return [
        {
            "name": name,
            "in": "query",
            "required": len(same) == len(overloads) and all(each.is_required for each in same),
            **_as_text(same[0], types),
        }
        for name, same in found.items()
    ]


def _as_text(argument: Argument, types: Types) -> Object:
    """Describe how an argument is written in a URL: JSON as itself, arrays and rows in Postgres' own way."""
    if argument.type in ("json", "jsonb"):
        return {"content": {"application/json": {"schema": {}}}}
    shape = types.of(argument.type)
    if argument.is_variadic:
        return {"schema": shape, "style": "form", "explode": True}
    is_plain = shape.get("type") in ("integer", "number", "boolean", "string")
    return {"schema": shape if is_plain else {"type": "string", "format": argument.type}}


def _answers(
    overloads: tuple[Function, ...], scope: Scope, catalog: Catalog, named: Named, types: Types
) -> Object:
    """Give the answers; what differs between overloads stands side by side."""
    counted = headers("Content-Range", "Preference-Applied")
    given = [each for each in overloads if each.returns is not Returns.VOID]
    answers: Object = {}
    if given:
        shape = _either(_distinct([_result(each, scope, named, types) for each in given]))
        content = _content(given, shape, catalog)
        answers["200"] = {"description": "OK", "headers": counted, "content": content}
        answers["206"] = {"description": "Partial Content", "headers": counted, "content": content}
    if len(given) < len(overloads):
        answers["204"] = {"$ref": "#/components/responses/done"}
    return answers | REFUSED["call"]


def _content(given: list[Function], shape: Object, catalog: Catalog) -> Object:
    """Give the media types of the answers: JSON, rows as the tables have them, and those of media type domains."""
    content: Object = {"application/json": {"schema": shape}}
    if any(each.returns is Returns.COMPOSITE for each in given):
        row = shape.get("items", shape)
        content["application/vnd.pgrst.object+json"] = {"schema": row}
        content["text/csv"] = {"schema": {"type": "string"}}
    names = {(each.schema, each.name) for each in given}
    for handler in catalog.media_handlers:
        if handler.is_scalar and handler.function in names:
            name = "application/octet-stream" if handler.media_type == "*/*" else handler.media_type
            content[name] = {"schema": {"type": "string"}}
    return content


def _distinct(shapes: list[Object]) -> list[Object]:
    return [shape for place, shape in enumerate(shapes) if shape not in shapes[:place]]


def _result(function: Function, scope: Scope, named: Named, types: Types) -> Object:
    relation = _returned(function, scope)
    result = named.result_of(function)
    if relation is not None:
        shape = reference(component_key(relation.name))
    elif result is None:
        shape = {}
    elif result.columns is not None and function.returns is Returns.COMPOSITE:
        properties = {each.name: nullable(types.of(each.type)) for each in result.columns}
        shape = {"type": "object", "properties": properties}
    else:
        shape = types.of(result.type)
    if function.returns_set:
        items = shape if function.returns is Returns.COMPOSITE else nullable(shape)
        return {"type": "array", "items": items}
    return nullable(shape)
