"""Step five: status, headers and body. Pure, but for a long body, which is passed on or abandoned.

Source: docs/reference/rest.md, sections 11 to 13, 19.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.active_documents import CONTENT_POLICY, SANDBOX, in_sandbox
from schemas.http import Headers, Response
from schemas.positions import TRANSACTION_ID
from workers.database.protocol.long_value import LongValue
from workers.database.protocol.row_body import RowBody
from workers.database.schema_cache.catalog import Returns
from workers.rest.dialect import Dialect, spelled_type
from workers.rest.errors.base import RestError
from workers.rest.errors.parse import RangeNotSatisfiable
from workers.rest.errors.respond import BadResponseHeaders, BadResponseStatus
from workers.rest.etags import tagged
from workers.rest.links import links, query_text
from workers.rest.model import Bound, CallPlan, ReadPlan, RequestAction, RestPlan, RestResult, WritePlan

_BODILESS = (204, 304)
_OF_DOCUMENTS = ("content-type", CONTENT_POLICY)
_VARY = ("vary", "Accept, Prefer, Range")
_header_list = msgspec.json.Decoder(list[dict[str, str]])
_STATUS = re.compile(r"[2-5][0-9]{2}")


class FixedHeaders(NamedTuple):
    """What the answers of a plan have in common, in one dialect."""

    typed: Headers
    """Content-Type, and Content-Profile where a schema was chosen."""
    path: str
    """The path of the resource."""
    behind: Headers
    """The last headers."""


def fixed_headers(plan: RestPlan, dialect: Dialect) -> FixedHeaders:
    """Return what the answers of a plan have in common."""
    behind: Headers = []
    if plan.output.explain is None and (applied := _applied(plan)):
        behind.append(("preference-applied", applied))
    behind.append(_VARY)
    if plan.output.explain is None and plan.warnings:
        behind.append(("warning", _warning(plan.warnings)))
    return FixedHeaders(_typed(plan, dialect), "/" + quote(plan.request.target, safe=""), behind)


def respond(
    plan: RestPlan,
    result: RestResult,
    values: Sequence[str],
    dialect: Dialect,
    *,
    conditions: Headers | None = None,
    is_conditional: bool = False,
    fixed: FixedHeaders | None = None,
) -> Response | StreamedResponse:
    """Return the response. A long body is sent as it arrives; for a response without a body, it is abandoned.

    `conditions` are the headers of the request of a read: the response has its entity tag, or is 304 if they name it.
    `is_conditional`: the response to a write under a condition has the tag of the rows that it returns, for the next one.
    `fixed` are the `fixed_headers` of the plan, where they are cached.

    Raises: RangeNotSatisfiable, BadResponseHeaders, BadResponseStatus.
    """
    try:
        status, headers, body = _answer(plan, result, values, fixed or fixed_headers(plan, dialect))
    except RestError:
        _abandon(result)
        raise
    if isinstance(body, bytes) or status in _BODILESS:
        _abandon(result)
        content = body if isinstance(body, bytes) else b""
        if conditions is not None:
            status, headers, content = tagged(plan, status, headers, content, conditions)
        elif is_conditional and plan.returns_rows:
            status, headers, content = tagged(plan, status, headers, content, [])
        return Response(status, headers, content)
    return StreamedResponse(status, headers, body, size=body.size, is_stored=isinstance(body, RowBody))


Answer = tuple[int, Headers, bytes | LongValue | RowBody]


def _abandon(result: RestResult) -> None:
    if not isinstance(result.body, bytes):
        result.body.abandon()


def _answer(plan: RestPlan, result: RestResult, values: Sequence[str], fixed: FixedHeaders) -> Answer:
    if plan.output.explain is not None:
        return 200, [fixed.typed[0], *fixed.behind], result.body
    match plan:
        case ReadPlan():
            status, headers, body = _read(plan, result, values, fixed)
        case CallPlan():
            status, headers, body = _call(plan, result, fixed)
        case WritePlan():
            status, headers, body = _write(plan, result, fixed)
    headers += fixed.behind
    if result.transaction_id is not None:
        headers.append((TRANSACTION_ID, result.transaction_id))
    if result.headers is not None or result.status is not None:
        status, headers = _overridden(status, headers, result)
    return status, headers, body


def _read(plan: ReadPlan, result: RestResult, values: Sequence[str], fixed: FixedHeaders) -> Answer:
    status, content_range = _ranged(plan.request.range.offset, result)
    location = fixed.path
    if plan.request.query.canonical:
        location += "?" + query_text(plan.request.query.canonical, values)
    if plan.read.is_paged:
        status, content_range = 200, f"*/{'*' if result.total is None else result.total}"
    headers = [*fixed.typed, ("content-range", content_range), ("content-location", location)]
    if result.edges is not None:
        headers += links(plan, result.edges, values)
    return status, headers, b"" if plan.request.is_head else result.body


def _call(plan: CallPlan, result: RestResult, fixed: FixedHeaders) -> Answer:
    status, content_range = _ranged(plan.request.range.offset, result)
    ranged: Headers = [("content-range", content_range)]
    if plan.call.function.returns is Returns.VOID:
        return 204, ranged, b""
    return status, [*fixed.typed, *ranged], b"" if plan.request.is_head else result.body


def _write(plan: WritePlan, result: RestResult, fixed: FixedHeaders) -> Answer:
    counted = result.page_total if plan.counts_exactly else None
    typed = fixed.typed if plan.returns_rows else []
    body = result.body if plan.returns_rows else b""
    match plan.request.action:
        case RequestAction.CREATE:
            return (
                _created(plan, result),
                [*_location(plan, result), ("content-range", _range(1, 0, counted)), *typed],
                body,
            )
        case RequestAction.UPDATE:
            ranged = ("content-range", _range(0, result.page_total - 1, counted))
            return (200 if plan.returns_rows else 204), [ranged, *typed], body
        case RequestAction.DELETE:
            return (
                (200 if plan.returns_rows else 204),
                [("content-range", _range(1, 0, counted)), *typed],
                body,
            )
    if not plan.returns_rows:
        return 204, [], b""
    return (201 if result.inserted else 200), [*typed], body


def _created(plan: WritePlan, result: RestResult) -> int:
    if plan.write.resolution != "merge-duplicates":
        return 201
    inserted = result.inserted if plan.write.columns else result.page_total
    return 201 if inserted else 200


def _ranged(offset: Bound, result: RestResult) -> tuple[int, str]:
    """Return status and Content-Range of rows read. Raises: RangeNotSatisfiable."""
    lower = offset if isinstance(offset, int) else 0
    upper, total = lower + result.page_total - 1, result.total
    if total is not None and lower > total:
        raise RangeNotSatisfiable(
            f"An offset of {lower} was requested, but there are only {total} rows.", total
        )
    status = 206 if total is not None and result.page_total < total else 200
    return status, _range(lower, upper, total)


def _range(lower: int, upper: int, total: int | None) -> str:
    rows = f"{lower}-{upper}" if total != 0 and lower <= upper else "*"
    return f"{rows}/{'*' if total is None else total}"


def _typed(plan: RestPlan, dialect: Dialect) -> Headers:
    headers: Headers = [("content-type", spelled_type(plan.output.content_type, dialect))]
    if plan.request.negotiated_schema:
        headers.append(("content-profile", plan.request.schema))
    return in_sandbox(headers)


def _location(plan: WritePlan, result: RestResult) -> Headers:
    if not plan.write.location or result.page_total != 1 or not result.location:
        return []
    pairs = zip(plan.write.location, result.location, strict=True)
    query = "&".join(
        f"{quote(name, safe='')}={'is.null' if value is None else 'eq.' + quote(value, safe='')}"
        for name, value in pairs
    )
    return [("location", f"/{quote(plan.request.target, safe='')}?{query}")]


def _applied(plan: RestPlan) -> str:
    """List the preferences that took effect, in the fixed order."""
    preferences, action = plan.request.preferences, plan.request.action
    is_write = isinstance(plan, WritePlan)
    resolution = None
    if isinstance(plan, WritePlan) and action is RequestAction.CREATE:
        resolution = plan.write.resolution
    applied = [
        ("resolution", resolution),
        ("missing", preferences.missing if action in (RequestAction.CREATE, RequestAction.UPDATE) else None),
        ("return", preferences.representation if is_write else None),
        ("count", preferences.count),
        ("tx", preferences.tx if plan.tx_applied else None),
        ("handling", preferences.handling),
        ("timezone", preferences.timezone),
        ("max-affected", plan.max_affected),
        ("pagination", preferences.pagination if plan.read.is_paged else None),
    ]
    return ", ".join(f"{name}={value}" for name, value in applied if value is not None)


def _warning(names: tuple[tuple[str, str], ...]) -> str:
    changes = ", ".join(f"`{name}` to `{alias}`" for name, alias in names)
    return (
        '299 headwater "Embedded resource was referenced by relation name even though it has an alias. '
        "This is deprecated and will stop working in a future release. "
        f'Update {changes} in query string filters, orders or limits."'
    )


def _overridden(status: int, headers: Headers, result: RestResult) -> tuple[int, Headers]:
    """Apply `response.headers` and `response.status`. Raises: BadResponseHeaders, BadResponseStatus."""
    if result.headers is not None:
        overriding = _own_headers(result.headers)
        names = {name for name, _ in overriding}
        headers = [pair for pair in headers if pair[0] not in names] + overriding
        if not names.isdisjoint(_OF_DOCUMENTS):
            headers = in_sandbox([pair for pair in headers if pair != SANDBOX])
    if result.status is not None:
        if not _STATUS.fullmatch(result.status):
            raise BadResponseStatus
        status = int(result.status)
    return status, headers


def _own_headers(text: str) -> Headers:
    try:
        entries = _header_list.decode(text)
    except msgspec.DecodeError:
        raise BadResponseHeaders from None
    if any(len(entry) != 1 for entry in entries):
        raise BadResponseHeaders
    return [(name.lower(), value) for entry in entries for name, value in entry.items()]
