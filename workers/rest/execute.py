"""Step four, the only one with I/O: one transaction as the caller.

Settings and statement travel together (`workers/database/session.py`). What a function or policy reads of the request
is set before anything runs. Source: reference page "rest", section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie

import msgspec

from schemas.http import Request
from workers.database.catalog import Role
from workers.database.session import End, Rows, Sessions, Statement, Work
from workers.rest.errors import NotSingular, TooManyAffected, UpsertKeyMismatch
from workers.rest.identity import Identity
from workers.rest.model import PAYLOAD, Out, Plan, Prepared, Result
from workers.sql.compose import Slot, quoted

Settings = tuple[tuple[str, str], ...]
_BODY_IN_BINARY = frozenset({2})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every transaction of a configuration has besides its request."""

    extra_search_path: tuple[str, ...] = ()
    app_settings: Settings = ()
    pre_request: str | None = None

    def search_path(self, schema: str) -> str:
        return ", ".join(quoted(name) for name in dict.fromkeys((schema, *self.extra_search_path)))


async def execute(
    plan: Plan,
    prepared: Prepared,
    values: Sequence[str],
    payload: bytes,
    request: Request,
    identity: Identity,
    role: Role,
    surroundings: Surroundings,
    sessions: Sessions,
) -> Result:
    """Run a plan's statement and check what it did.

    Raises: DatabaseError and its siblings; NotSingular, TooManyAffected, UpsertKeyMismatch, after a rollback.
    """
    statements = (
        [] if surroundings.pre_request is None else [Statement(f"select {_call(surroundings.pre_request)}")]
    )
    explains = plan.output.explain is not None
    binary = frozenset[int]() if explains else _BODY_IN_BINARY
    statements.append(Statement(prepared.text, _bound(prepared, values, payload), binary))
    main = len(statements) - 1
    if prepared.estimate is not None:
        statements.append(Statement(prepared.estimate.text, _bound(prepared.estimate, values, payload)))
    work = Work(
        settings=settings_of(plan, request, identity, role, surroundings),
        statements=statements,
        read_only=plan.read_only,
        isolation=plan.isolation or role.isolation,
        end=plan.end,
    )
    if explains:
        rows = (await sessions.run(work))[main]
        return Result(body=b"\n".join(row[0] or b"" for row in rows), page_total=1)

    def decide(results: list[Rows]) -> bool:
        check(plan, _result(prepared, results[main]))
        return True

    results = await sessions.run(work, decide if work.end is End.DECIDE else None)
    result = _result(prepared, results[main])
    check(plan, result)
    if prepared.estimate is not None:
        result = _with_estimate(plan, result, results[main + 1])
    return result


def settings_of(
    plan: Plan, request: Request, identity: Identity, role: Role, surroundings: Surroundings
) -> list[tuple[str, str]]:
    """Give the settings of the transaction, in the order in which they are applied."""
    headers, cookies = _headers(request)
    settings = [
        ("search_path", surroundings.search_path(plan.request.schema)),
        *role.settings,
        ("role", identity.role),
        ("request.jwt.claims", identity.claims),
        ("request.method", request.method),
        ("request.path", request.path),
        ("request.headers", headers),
        ("request.cookies", cookies),
    ]
    if plan.request.preferences.timezone is not None:
        settings.append(("timezone", plan.request.preferences.timezone))
    settings += plan.settings
    settings += surroundings.app_settings
    return settings


def check(plan: Plan, result: Result) -> None:
    """Hold the number of rows against what was demanded. Raises: the post-check refusals."""
    if plan.output.is_singular and result.page_total != 1:
        raise NotSingular(result.page_total)
    if plan.write is not None and plan.write.key_check and result.page_total != 1:
        raise UpsertKeyMismatch
    if plan.max_affected is not None and result.page_total > plan.max_affected:
        raise TooManyAffected(result.page_total)


def _call(name: str) -> str:
    """Write the call of a function that the configuration names, as `schema.name` or `name`."""
    return ".".join(quoted(part) for part in name.split(".")) + "()"


def _bound(prepared: Prepared, values: Sequence[str], payload: bytes) -> list[bytes | None]:
    bound: list[bytes | None] = []
    for param in prepared.params:
        if not isinstance(param, Slot):
            bound.append(param)
        elif param.index == PAYLOAD.index:
            bound.append(payload)
        else:
            value = values[param.index]
            bound.append(param.convert(value) if param.convert else value.encode())
    return bound


def _headers(request: Request) -> tuple[str, str]:
    """Give `request.headers` and `request.cookies` as JSON objects."""
    headers: dict[str, str] = {}
    cookies = "{}"
    for name, value in request.headers:
        if name == "cookie":
            cookies = _cookies(value)
        else:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return msgspec.json.encode(headers).decode(), cookies


def _cookies(header: str) -> str:
    try:
        jar = SimpleCookie(header)
    except CookieError:
        return "{}"
    return msgspec.json.encode({name: morsel.value for name, morsel in jar.items()}).decode()


def _result(prepared: Prepared, rows: Rows) -> Result:
    """Read the one row of an answer; its first five columns are always the same (`query.py: _columns`)."""
    row = rows[0]
    total, page_total, body, headers, status = row[:5]
    location: tuple[str | None, ...] = ()
    inserted = None
    if len(row) > 5:
        further = dict(zip(prepared.columns[5:], row[5:], strict=True))
        keys, count = further.get(Out.LOCATION), further.get(Out.INSERTED)
        location = () if keys is None else tuple(msgspec.json.decode(keys, type=list[str | None]))
        inserted = None if count is None else int(count)
    return Result(
        body=body or b"",
        page_total=int(page_total or 0),
        total=None if total is None else int(total),
        location=location,
        inserted=inserted,
        headers=None if headers is None else headers.decode(),
        status=None if status is None else status.decode(),
    )


def _with_estimate(plan: Plan, result: Result, rows: Rows) -> Result:
    """Take the planner's figure for the total: alone, or when the exact count gave up at its limit."""
    explained = msgspec.json.decode(rows[0][0] or b"[]")
    estimated = int(explained[0]["Plan"]["Plan Rows"])
    exact = result.total
    if plan.request.preferences.count == "planned" or exact is None:
        total = estimated
    elif plan.count_limit is not None and exact <= plan.count_limit:
        total = exact
    else:
        total = max(exact, estimated)
    return replace(result, total=total)
