"""Content negotiation: which media type the rows become. Source: docs/reference/rest.md, section 15."""

from workers.database.schema_cache.catalog import Catalog, CatalogFunction, CatalogRelation, MediaHandler
from workers.rest.errors.plan import NotAcceptable
from workers.rest.model import (
    STAR,
    ApiRequest,
    BodyShape,
    ExplainOptions,
    MediaOutput,
    MediaType,
    RequestAction,
    RestOptions,
)

JSON = "application/json; charset=utf-8"
OPENAPI = "application/openapi+json; charset=utf-8"
OPENAPI_31 = "application/vnd.oai.openapi+json;version=3.1; charset=utf-8"
_VENDOR = "application/vnd.pgrst."
_CHARSET = "; charset=utf-8"
_EXPLAIN_OPTIONS = ("analyze", "verbose", "settings", "buffers", "wal")
_TEXTUAL = frozenset({"text/plain", "text/xml", "text/csv", "application/json", "application/openapi+json"})


def negotiate(
    request: ApiRequest,
    catalog: Catalog,
    options: RestOptions,
    relation: CatalogRelation | None,
    function: CatalogFunction | None,
) -> MediaOutput:
    """Return the first type of `Accept` that can be produced.

    Raises: NotAcceptable.
    """
    for media in request.accept:
        output = _output(request, catalog, options, relation, function, media)
        if output is not None:
            return output
    raise NotAcceptable([_spelled(media) for media in request.accept])


def negotiate_root(request: ApiRequest) -> str:
    """Return the content type of the first description that the caller takes. Raises: NotAcceptable."""
    for media in request.accept:
        is_31 = media.parameter("version") == "3.1"
        if is_31 and media.name in ("application/vnd.oai.openapi+json", "application/openapi+json"):
            return OPENAPI_31
        if media.name in ("application/openapi+json", "application/json", "*/*"):
            return OPENAPI
    raise NotAcceptable([_spelled(media) for media in request.accept])


def _output(
    request: ApiRequest,
    catalog: Catalog,
    options: RestOptions,
    relation: CatalogRelation | None,
    function: CatalogFunction | None,
    media: MediaType,
) -> MediaOutput | None:
    strips = media.parameter("nulls") == "stripped"
    suffix = ";nulls=stripped" if strips else ""
    match media.name.removeprefix(_VENDOR) if media.name.startswith(_VENDOR) else None:
        case "object" | "object+json":
            name = f"{_VENDOR}object+json{suffix}{_CHARSET}"
            return MediaOutput(BodyShape.SINGLE, name, strips_nulls=strips, is_singular=True)
        case "array" | "array+json" if strips:
            return MediaOutput(BodyShape.ARRAY, f"{_VENDOR}array+json{suffix}{_CHARSET}", strips_nulls=True)
        case "array" | "array+json":
            media = MediaType("application/json")
        case "plan" | "plan+text" | "plan+json":
            return _plan(request, catalog, options, relation, function, media)
        case None:
            pass
        case _:
            return None
    handler = _handler(request, catalog, relation, function, media.name)
    if handler is not None:
        return MediaOutput(BodyShape.HANDLER, _handled_type(handler), handler=handler)
    match media.name:
        case "application/json" | "*/*":
            return MediaOutput(BodyShape.ARRAY, JSON)
        case "text/csv":
            return MediaOutput(BodyShape.CSV, "text/csv" + _CHARSET)
        case "application/geo+json" if ("extensions", "st_asgeojson") in catalog.functions:
            return MediaOutput(BodyShape.GEOJSON, "application/geo+json" + _CHARSET)
    return None


def _plan(
    request: ApiRequest,
    catalog: Catalog,
    options: RestOptions,
    relation: CatalogRelation | None,
    function: CatalogFunction | None,
    media: MediaType,
) -> MediaOutput | None:
    if not options.plan_enabled:
        return None
    inner_name, *parameters = (
        (media.parameter("for") or "application/json").replace("application/vnd.rest.", _VENDOR, 1).split(";")
    )
    inner = MediaType(inner_name.strip(), tuple(_pair(parameter) for parameter in parameters))
    if inner.name.startswith(f"{_VENDOR}plan"):
        return None
    output = _output(request, catalog, options, relation, function, inner)
    if output is None:
        return None
    media_type = (media.parameter("options") or "").split("|")
    chosen = tuple(option for option in _EXPLAIN_OPTIONS if option in media_type)
    form = "json" if media.name.endswith("+json") else "text"
    name = inner.name + ("+json" if inner.name in (f"{_VENDOR}object", f"{_VENDOR}array") else "")
    kind = _spelled(MediaType(name, inner.parameters))
    suffix = f"; options={'|'.join(chosen)}" if chosen else ""
    content_type = f'{_VENDOR}plan+{form}; for="{kind}"{suffix}{_CHARSET}'
    return MediaOutput(
        output.shape,
        content_type,
        strips_nulls=output.strips_nulls,
        handler=output.handler,
        explain=ExplainOptions(form, chosen),
    )


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def _handler(
    request: ApiRequest,
    catalog: Catalog,
    relation: CatalogRelation | None,
    function: CatalogFunction | None,
    media_type: str,
) -> MediaHandler | None:
    """Find the handler: of the function or relation for any type, then for this type, then of any element."""
    if function is not None:
        specific = [
            handler
            for handler in catalog.media_handlers
            if handler.is_scalar
            and handler.function == (function.schema, function.name)
            and not function.returns_set
        ]
    else:
        specific = []
    is_whole = request.query.select == (STAR,)
    if relation is not None and is_whole:
        specific += [
            handler
            for handler in catalog.media_handlers
            if handler.relation == (relation.schema, relation.name)
        ]
    general = [
        handler for handler in catalog.media_handlers if handler.relation is None and not handler.is_scalar
    ]
    for handlers, name in ((specific, "*/*"), (specific, media_type), (general, media_type)):
        for handler in handlers:
            if handler.media_type == name:
                return handler
    return None


def _handled_type(handler: MediaHandler) -> str:
    name = "application/octet-stream" if handler.media_type == "*/*" else handler.media_type
    return name + (_CHARSET if name in _TEXTUAL else "")


def _spelled(media: MediaType) -> str:
    return media.name + "".join(f";{key}={value}" for key, value in media.parameters)


def shows_rows(request: ApiRequest) -> bool:
    """Return whether rows are shown at all: reads with a body, and writes that ask for a representation."""
    if request.action in (RequestAction.READ, RequestAction.CALL):
        return not request.is_head
    return request.preferences.representation == "representation"
