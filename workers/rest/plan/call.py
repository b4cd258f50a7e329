"""Which function is called, and with what. Source: docs/reference/rest.md, sections 14 and errors 202, 203."""

from collections.abc import Iterable

from workers.database.schema_cache.catalog import Catalog, CatalogFunction
from workers.rest.errors.plan import AmbiguousFunction, DatabaseFunctionNotFound
from workers.rest.model import ApiRequest, FunctionCall, Operand, Payload, RestOptions

_UNNAMED = {
    "application/json": ("json", "jsonb"),
    "text/plain": ("text",),
    "text/xml": ("xml",),
    "application/octet-stream": ("bytea",),
}
_RAW_TYPES = frozenset({"text/plain", "text/xml", "application/octet-stream"})
_NAME_SCORE = 0.75
_ARGUMENTS_SCORE = 0.33


def plan_call(
    request: ApiRequest, payload: Payload | None, catalog: Catalog, options: RestOptions
) -> FunctionCall:
    """Choose the overload that takes the arguments given.

    Raises: DatabaseFunctionNotFound, AmbiguousFunction.
    """
    names = _names_given(request, payload)
    is_post = request.method == "POST"
    overloads = catalog.functions.get((request.schema, request.target), ())
    named = [
        overload
        for overload in overloads
        if _takes(overload, names, request.content_type if is_post else None)
    ]
    unnamed = [overload for overload in overloads if is_post and _takes_body(overload, request.content_type)]
    candidates = named or unnamed
    if not candidates:
        raise _no_function(request, names, overloads, catalog, options)
    if len(candidates) > 1:
        raise AmbiguousFunction([_signature(candidate) for candidate in candidates])
    function = candidates[0]
    if not named:
        return FunctionCall(function, takes_body=True)
    if payload is None or payload.kind == "form":
        names_given = payload.form if payload else request.query.arguments
        return FunctionCall(function, arguments=names, direct=_direct(function, names_given))
    return FunctionCall(function, arguments=names, takes_json=bool(names), is_array=payload.is_array)


def _names_given(request: ApiRequest, payload: Payload | None) -> tuple[str, ...]:
    if payload is None:
        return tuple(sorted({name for name, _ in request.query.arguments}))
    if request.query.columns is not None and payload.kind == "json":
        return tuple(sorted(request.query.columns))
    return payload.keys


def _takes(function: CatalogFunction, names: tuple[str, ...], content_type: str | None) -> bool:
    required = {argument.name for argument in function.arguments if argument.is_required}
    optional = {argument.name for argument in function.arguments if not argument.is_required}
    if not function.arguments:
        return not names and content_type not in _RAW_TYPES
    names_given = set(names)
    return required <= names_given and names_given <= required | optional


def _takes_body(function: CatalogFunction, content_type: str) -> bool:
    if len(function.arguments) != 1 or function.arguments[0].name:
        return False
    return function.arguments[0].type in _UNNAMED.get(content_type, ())


def _direct(
    function: CatalogFunction, names_given: tuple[tuple[str, Operand], ...]
) -> tuple[tuple[str, tuple[Operand, ...]], ...]:
    """Pair arguments with their texts: of one given twice the last counts, a variadic one keeps all."""
    variadic = {argument.name for argument in function.arguments if argument.is_variadic}
    values: dict[str, tuple[Operand, ...]] = {}
    for name, value in names_given:
        values[name] = (*values.get(name, ()), value) if name in variadic else (value,)
    return tuple(values.items())


def _no_function(
    request: ApiRequest,
    names: tuple[str, ...],
    overloads: tuple[CatalogFunction, ...],
    catalog: Catalog,
    options: RestOptions,
) -> DatabaseFunctionNotFound:
    full = f"{request.schema}.{request.target}"
    is_raw = request.method == "POST" and request.content_type in _RAW_TYPES
    listed = ", ".join(names)
    if is_raw:
        message = f"Could not find the function {full} in the schema cache"
    elif names:
        message = f"Could not find the function {full}({listed}) in the schema cache"
    else:
        message = f"Could not find the function {full} without parameters in the schema cache"
    details = f"Searched for the function {full}{_searched(request, names, is_raw)}, but no matches were found in the schema cache."
    return DatabaseFunctionNotFound(
        message, details, None if is_raw else _hint(request, names, overloads, catalog, options)
    )


def _searched(request: ApiRequest, names: tuple[str, ...], is_raw: bool) -> str:
    if is_raw:
        return f" with a single unnamed {_UNNAMED[request.content_type][0]} parameter"
    listed = (
        f" with parameter{'s' if len(names) > 1 else ''} {', '.join(names)}"
        if names
        else " without parameters"
    )
    also = request.method == "POST" and request.content_type == "application/json"
    return listed + (" or with a single unnamed json/jsonb parameter" if also else "")


def _hint(
    request: ApiRequest,
    names: tuple[str, ...],
    overloads: tuple[CatalogFunction, ...],
    catalog: Catalog,
    options: RestOptions,
) -> str | None:
    schema = request.schema
    if not overloads:
        candidates = sorted({name for space, name in catalog.functions if space == schema})
        near = options.similar(request.target, candidates, _NAME_SCORE)
        return f"Perhaps you meant to call the function {schema}.{near}" if near else None
    if not names:
        return None
    candidates = sorted({_listed(argument.name for argument in overload.arguments) for overload in overloads})
    near = options.similar(_listed(names), candidates, _ARGUMENTS_SCORE)
    return f"Perhaps you meant to call the function {schema}.{request.target}{near}" if near else None


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(sorted(names))})"


def _signature(function: CatalogFunction) -> str:
    arguments = (f"{argument.name} => {argument.type}" for argument in function.arguments)
    return f"{function.schema}.{function.name}({', '.join(arguments)})"
