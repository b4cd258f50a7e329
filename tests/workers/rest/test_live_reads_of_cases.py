"""The reads of the conformance cases: what Postgres scans for one is among the tables that it would follow as a live read."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from schemas.caller import AnonymousCaller
from schemas.http import Request
from schemas.settings.tree import Api
from schemas.subscriptions import METHOD, LiveQueryPlan
from tests.conformance.recorded import CASES, require_cases
from tests.workers.database.introspection_fixtures import (
    CONFORMANCE,
    as_role,
    catalog_of,
    connected,
    fresh_database,
)
from tests.workers.rest.rest_pool import RestPool
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement, TransactionSpec
from workers.rest.errors.base import RestError
from workers.rest.execute import RestTask, TransactionDefaults
from workers.rest.live import live_plan
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path
from workers.rest.prepare import parse, plan_and_query
from workers.rest.state import RestState

_LOGIN = "postgrest_test_authenticator"
_ROLE = "postgrest_test_anonymous"
_PUBLISH = "create publication supabase_realtime for all tables"


def _reads() -> list[Request]:
    """Return the reads of the usual profile, each once."""
    cases = json.loads((CASES / "rest" / "cases.json").read_text())
    steps = [step for case in cases if case["profile"] == "default" for step in case["steps"]]
    reads: dict[str, Request] = {}
    for step in steps:
        path, _, query = step["path"].partition("?")
        headers = [
            (name.lower(), value) for name, value in step["headers"] if name.lower() != "authorization"
        ]
        if step["method"] == "GET" and step["expect"].get("status") in (200, 206):
            reads[f"{step['path']} {headers}"] = Request(
                "test", METHOD, path, query, headers, AnonymousCaller()
            )
    return list(reads.values())


def _scanned(plan: Any) -> Iterator[tuple[str, str]]:
    """Yield the relations of a plan of EXPLAIN with its descendants."""
    if isinstance(plan, list):
        for item in plan:
            yield from _scanned(item)
    elif isinstance(plan, dict):
        if "Relation Name" in plan:
            yield plan["Schema"], plan["Relation Name"]
        for item in plan.values():
            yield from _scanned(item)


async def test_every_table_that_a_read_scans_is_followed(server) -> None:
    require_cases(CASES / "rest")
    scripts = [path.read_text() for path in sorted(CONFORMANCE.glob("*.sql"))]
    compared = 0
    async with fresh_database(server.url, *scripts, _PUBLISH) as url:
        catalog = await catalog_of(as_role(url, _LOGIN), ["test"])
        pool = await ConnectionPool.open(as_role(url, _LOGIN), 2)
        options: dict[str, Any] = {"schemas": ["test"], "extra_search_path": [], "anon_role": _ROLE}
        rest = RestPool(pool, RestState(Api(**options), catalog))
        async with connected(url) as owner:
            await owner.execute("set search_path = test")
            for request in _reads():
                try:
                    live = msgspec.msgpack.decode(
                        (await live_plan(rest.state, request, pool)).body, type=LiveQueryPlan
                    )
                    statement = _statement_of(rest.state, request)
                except RestError:
                    continue  # another media type, a materialized view, no table at all
                try:
                    plan = await pool.run(
                        TransactionSpec(
                            [("role", _ROLE), ("search_path", "test")],
                            [Statement(f"explain (verbose, format json) {statement.text}", statement.params)],
                        )
                    )
                except DatabaseError:
                    continue  # a right that a token of the case would give
                scanned = set(_scanned(json.loads(plan[0][0][0] or b"[]")))
                followed = {tuple(name) for name in [*live.tables, *live.further]}
                missing = {
                    name for name in scanned if name[0] not in ("pg_catalog", "information_schema")
                } - followed
                assert missing == set(), (request.path, request.query, missing)
                compared += 1
        await pool.close()

    assert compared >= 200


def _statement_of(state: RestState, request: Request) -> Statement:
    shape, values = shape_of(request.query, is_call=is_call_path(request.path))
    key, parsed = parse(state, "GET", request.path, shape, request.headers)
    planned = plan_and_query(state, key, parsed, None)
    return RestTask(planned.plan, planned.statement, values).statements(TransactionDefaults())[-1]
