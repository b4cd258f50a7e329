"""Content negotiation: which media type the rows become. Source: reference page "rest", section 15."""

from workers.database.catalog import Catalog, Function, MediaHandler, Relation
from workers.rest.errors import NotAcceptable
from workers.rest.model import STAR, Action, ApiRequest, Explain, MediaType, Options, Output, Shape

JSON = "application/json; charset=utf-8"
OPENAPI = "application/openapi+json; charset=utf-8"
OPENAPI_31 = "application/vnd.oai.openapi+json;version=3.1; charset=utf-8"
_VENDOR = "application/vnd.pgrst."
_CHARSET = "; charset=utf-8"
_EXPLAIN_OPTIONS = ("analyze", "verbose", "settings", "buffers", "wal")
_TEXTUAL = frozenset({"text/plain", "text/xml", "text/csv", "application/json", "application/openapi+json"})


def negotiate(
    asked: ApiRequest,
    catalog: Catalog,
    options: Options,
    relation: Relation | None,
    function: Function | None,
) -> Output:
    """Give the first type of `Accept` that can be produced.

    Raises: NotAcceptable.
    """
    for media in asked.accept:
        output = _output(asked, catalog, options, relation, function, media)
        if output is not None:
            return output
    raise NotAcceptable([_spelled(media) for media in asked.accept])


def negotiate_root(asked: ApiRequest) -> str:
    """Give the content type of the first description that the caller takes. Raises: NotAcceptable."""
    for media in asked.accept:
        is_31 = media.parameter("version") == "3.1"
        if is_31 and media.name in ("application/vnd.oai.openapi+json", "application/openapi+json"):
            return OPENAPI_31
        if media.name in ("application/openapi+json", "application/json", "*/*"):
            return OPENAPI
    raise NotAcceptable([_spelled(media) for media in asked.accept])


def _output(
    asked: ApiRequest,
    catalog: Catalog,
    options: Options,
    relation: Relation | None,
    function: Function | None,
    media: MediaType,
) -> Output | None:
    strips = media.parameter("nulls") == "stripped"
    suffix = ";nulls=stripped" if strips else ""
    match media.name.removeprefix(_VENDOR) if media.name.startswith(_VENDOR) else None:
        case "object" | "object+json":
            name = f"{_VENDOR}object+json{suffix}{_CHARSET}"
            return Output(Shape.SINGLE, name, strips_nulls=strips, is_singular=True)
        case "array" | "array+json" if strips:
            return Output(Shape.ARRAY, f"{_VENDOR}array+json{suffix}{_CHARSET}", strips_nulls=True)
        case "array" | "array+json":
            media = MediaType("application/json")
        case "plan" | "plan+text" | "plan+json":
            return _plan(asked, catalog, options, relation, function, media)
        case None:
            pass
        case _:
            return None
    handler = _handler(asked, catalog, relation, function, media.name)
    if handler is not None:
        return Output(Shape.HANDLER, _handled_type(handler), handler=handler)
    match media.name:
        case "application/json" | "*/*":
            return Output(Shape.ARRAY, JSON)
        case "text/csv":
            return Output(Shape.CSV, "text/csv" + _CHARSET)
        case "application/geo+json" if ("extensions", "st_asgeojson") in catalog.functions:
            return Output(Shape.GEOJSON, "application/geo+json" + _CHARSET)
    return None


def _plan(
    asked: ApiRequest,
    catalog: Catalog,
    options: Options,
    relation: Relation | None,
    function: Function | None,
    media: MediaType,
) -> Output | None:
    if not options.plan_enabled:
        return None
    inner_name, *parameters = (
        (media.parameter("for") or "application/json").replace("application/vnd.rest.", _VENDOR, 1).split(";")
    )
    inner = MediaType(inner_name.strip(), tuple(_pair(each) for each in parameters))
    if inner.name.startswith(f"{_VENDOR}plan"):
        return None
    output = _output(asked, catalog, options, relation, function, inner)
    if output is None:
        return None
    wanted = (media.parameter("options") or "").split("|")
    chosen = tuple(option for option in _EXPLAIN_OPTIONS if option in wanted)
    form = "json" if media.name.endswith("+json") else "text"
    name = inner.name + ("+json" if inner.name in (f"{_VENDOR}object", f"{_VENDOR}array") else "")
    kind = _spelled(MediaType(name, inner.parameters))
    suffix = f"; options={'|'.join(chosen)}" if chosen else ""
    shown = f'{_VENDOR}plan+{form}; for="{kind}"{suffix}{_CHARSET}'
    return Output(
        output.shape,
        shown,
        strips_nulls=output.strips_nulls,
        handler=output.handler,
        explain=Explain(form, chosen),
    )


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def _handler(
    asked: ApiRequest, catalog: Catalog, relation: Relation | None, function: Function | None, wanted: str
) -> MediaHandler | None:
    """Find the handler: of the function or relation for any type, then for this type, then of any element."""
    if function is not None:
        own = [
            each
            for each in catalog.media_handlers
            if each.is_scalar
            and each.function == (function.schema, function.name)
            and not function.returns_set
        ]
    else:
        own = []
    is_whole = asked.query.select == (STAR,)
    if relation is not None and is_whole:
        own += [each for each in catalog.media_handlers if each.relation == (relation.schema, relation.name)]
    general = [each for each in catalog.media_handlers if each.relation is None and not each.is_scalar]
    for handlers, name in ((own, "*/*"), (own, wanted), (general, wanted)):
        for each in handlers:
            if each.media_type == name:
                return each
    return None


def _handled_type(handler: MediaHandler) -> str:
    name = "application/octet-stream" if handler.media_type == "*/*" else handler.media_type
    return name + (_CHARSET if name in _TEXTUAL else "")


def _spelled(media: MediaType) -> str:
    return media.name + "".join(f";{key}={value}" for key, value in media.parameters)


def shows_rows(asked: ApiRequest) -> bool:
    """Tell whether rows are shown at all: reads with a body, and writes that ask for a representation."""
    if asked.action in (Action.READ, Action.CALL):
        return not asked.is_head
    return asked.preferences.representation == "representation"
