"""Which function is called, and with what. Source: reference page "rest", section 14 and errors 202, 203."""

from collections.abc import Iterable

from workers.database.catalog import Catalog, Function
from workers.rest.errors import AmbiguousFunction, NoFunction
from workers.rest.model import ApiRequest, Call, Operand, Options, Payload

_UNNAMED = {
    "application/json": ("json", "jsonb"),
    "text/plain": ("text",),
    "text/xml": ("xml",),
    "application/octet-stream": ("bytea",),
}
_RAW_TYPES = frozenset({"text/plain", "text/xml", "application/octet-stream"})
_NAME_SCORE = 0.75
_ARGUMENTS_SCORE = 0.33


def plan_call(asked: ApiRequest, payload: Payload | None, catalog: Catalog, options: Options) -> Call:
    """Choose the overload that takes the arguments given.

    Raises: NoFunction, AmbiguousFunction.
    """
    names = _names_given(asked, payload)
    is_post = asked.method == "POST"
    overloads = catalog.functions.get((asked.schema, asked.target), ())
    named = [each for each in overloads if _takes(each, names, asked.content_type if is_post else None)]
    unnamed = [each for each in overloads if is_post and _takes_body(each, asked.content_type)]
    candidates = named or unnamed
    if not candidates:
        raise _no_function(asked, names, overloads, catalog, options)
    if len(candidates) > 1:
        raise AmbiguousFunction([_signature(each) for each in candidates])
    function = candidates[0]
    if not named:
        return Call(function, takes_body=True)
    if payload is None or payload.kind == "form":
        given = payload.form if payload else asked.query.arguments
        return Call(function, arguments=names, direct=_direct(function, given))
    return Call(function, arguments=names, takes_json=bool(names))


def _names_given(asked: ApiRequest, payload: Payload | None) -> tuple[str, ...]:
    if payload is None:
        return tuple(sorted({name for name, _ in asked.query.arguments}))
    if asked.query.columns is not None and payload.kind == "json":
        return tuple(sorted(asked.query.columns))
    return payload.keys


def _takes(function: Function, names: tuple[str, ...], content_type: str | None) -> bool:
    required = {each.name for each in function.arguments if each.is_required}
    optional = {each.name for each in function.arguments if not each.is_required}
    if not function.arguments:
        return not names and content_type not in _RAW_TYPES
    given = set(names)
    return required <= given and given <= required | optional


def _takes_body(function: Function, content_type: str) -> bool:
    if len(function.arguments) != 1 or function.arguments[0].name:
        return False
    return function.arguments[0].type in _UNNAMED.get(content_type, ())


def _direct(
    function: Function, given: tuple[tuple[str, Operand], ...]
) -> tuple[tuple[str, tuple[Operand, ...]], ...]:
    """Pair arguments with their texts: of one given twice the last counts, a variadic one keeps all."""
    variadic = {each.name for each in function.arguments if each.is_variadic}
    values: dict[str, tuple[Operand, ...]] = {}
    for name, value in given:
        values[name] = (*values.get(name, ()), value) if name in variadic else (value,)
    return tuple(values.items())


def _no_function(
    asked: ApiRequest,
    names: tuple[str, ...],
    overloads: tuple[Function, ...],
    catalog: Catalog,
    options: Options,
) -> NoFunction:
    full = f"{asked.schema}.{asked.target}"
    is_raw = asked.method == "POST" and asked.content_type in _RAW_TYPES
    listed = ", ".join(names)
    if is_raw:
        message = f"Could not find the function {full} in the schema cache"
    elif names:
        message = f"Could not find the function {full}({listed}) in the schema cache"
    else:
        message = f"Could not find the function {full} without parameters in the schema cache"
    details = f"Searched for the function {full}{_searched(asked, names, is_raw)}, but no matches were found in the schema cache."
    return NoFunction(message, details, None if is_raw else _hint(asked, names, overloads, catalog, options))


def _searched(asked: ApiRequest, names: tuple[str, ...], is_raw: bool) -> str:
    if is_raw:
        return f" with a single unnamed {_UNNAMED[asked.content_type][0]} parameter"
    listed = (
        f" with parameter{'s' if len(names) > 1 else ''} {', '.join(names)}"
        if names
        else " without parameters"
    )
    also = asked.method == "POST" and asked.content_type == "application/json"
    return listed + (" or with a single unnamed json/jsonb parameter" if also else "")


def _hint(
    asked: ApiRequest,
    names: tuple[str, ...],
    overloads: tuple[Function, ...],
    catalog: Catalog,
    options: Options,
) -> str | None:
    schema = asked.schema
    if not overloads:
        known = sorted({name for space, name in catalog.functions if space == schema})
        near = options.similar(asked.target, known, _NAME_SCORE)
        return f"Perhaps you meant to call the function {schema}.{near}" if near else None
    if not names:
        return None
    known = sorted({_listed(each.name for each in overload.arguments) for overload in overloads})
    near = options.similar(_listed(names), known, _ARGUMENTS_SCORE)
    return f"Perhaps you meant to call the function {schema}.{asked.target}{near}" if near else None


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(sorted(names))})"


def _signature(function: Function) -> str:
    shown = (f"{each.name} => {each.type}" for each in function.arguments)
    return f"{function.schema}.{function.name}({', '.join(shown)})"
