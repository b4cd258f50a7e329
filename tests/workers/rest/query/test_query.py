"""The statement of every request: one that Postgres takes, with no value of the request in its text."""

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

import asyncpg
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workers.database.introspection_fixtures import connected, fresh_database
from tests.workers.database.own_server import OwnServer
from tests.workers.rest.parse.anything import outcome
from tests.workers.rest.plan.asking import ask
from tests.workers.rest.plan.test_catalogs import SCHEMA
from tests.workers.rest.query.fragments import bind
from tests.workers.rest.query.making import requests
from tests.workers.rest.query.requests import REQUESTS, RestArguments
from workers.rest.errors.base import RestError
from workers.rest.model import PAYLOAD, OutputColumn, RestStatement
from workers.rest.query.query import query_for
from workers.rest.query.rows import rows_query_for
from workers.sql.compose import ParameterSlot

_PLACEHOLDER = re.compile(r"\$\d+")


def statements(sent: RestArguments) -> list[RestStatement]:
    """Return the statement of a request, and those beside it."""
    plan = ask(sent.method, sent.target, sent.body, **dict(sent.headers)).plan
    prepared, by_rows = query_for(plan), rows_query_for(plan)
    return [
        prepared,
        *([] if by_rows is None else [by_rows]),
        *prepared.estimates,
        *([] if prepared.guard is None else [prepared.guard]),
        *prepared.before,
    ]


def is_understood(text: str) -> bool:
    """Return whether a parser of Postgres' dialect that is not Postgres reads one whole statement.

    Placeholders become literals: the parser takes `$1::text)->>($` for the start of a quoted text.
    """
    bare = re.sub(r"^explain \([^)]*\) ", "", _PLACEHOLDER.sub("'x'", text))
    found = sqlglot.parse(bare, dialect="postgres")
    return len(found) == 1 and not isinstance(found[0], sqlglot.exp.Command | None)


@pytest.mark.parametrize("sent", REQUESTS, ids=str)
def test_every_statement_is_understood_and_numbers_its_parameters(sent: RestArguments) -> None:
    for prepared in statements(sent):
        numbers = [int(each[1:]) for each in _PLACEHOLDER.findall(prepared.text)]

        assert numbers == list(range(1, len(prepared.params) + 1))
        assert " variadic " in prepared.text or is_understood(
            prepared.text
        )  # the parser lacks `variadic name =>`


def test_the_columns_of_a_statement_stand_in_their_order() -> None:
    for sent in REQUESTS:
        prepared = statements(sent)[0]
        if not prepared.text.startswith("explain"):
            shown = [f'as "{name}"' for name in prepared.columns]
            places = [prepared.text.index(each) for each in shown]

            assert places == sorted(places), sent
            assert set(prepared.columns) >= {
                OutputColumn.BODY,
                OutputColumn.PAGE_TOTAL,
                OutputColumn.TOTAL,
                OutputColumn.HEADERS,
                OutputColumn.STATUS,
            }


@pytest.fixture(scope="module")
async def connection(server: OwnServer) -> AsyncIterator[asyncpg.Connection]:
    async with fresh_database(server.url, SCHEMA) as url, connected(url) as one:
        yield one


async def refusal(connection: asyncpg.Connection, text: str) -> str | None:
    """Say how Postgres refuses to prepare a statement, if it does."""
    try:
        await connection.prepare(text)
    except asyncpg.PostgresError as error:
        return f"{error.sqlstate} {error}"
    return None


async def test_postgres_prepares_every_statement(connection: asyncpg.Connection) -> None:
    refused = {}
    for sent in REQUESTS:
        for prepared in statements(sent):
            said = await refusal(connection, prepared.text)
            if said is not None:
                refused[str(sent)] = said

    assert refused == {}


MADE = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
"""No deadline: the machine of a test run is shared, and the connection is."""


@MADE
@given(requests())
async def test_postgres_prepares_statements_made_at_random(
    connection: asyncpg.Connection, sent: RestArguments
) -> None:
    for prepared in statements(sent):
        assert await refusal(connection, prepared.text) is None, prepared.text


@MADE
@given(requests())
def test_statements_made_at_random_are_understood(sent: RestArguments) -> None:
    for prepared in statements(sent):
        assert is_understood(prepared.text), prepared.text


MARK = "MARK"
VALUES = [
    *(f"/projects?name={operator}.MARK" for operator in ("eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch", "isdistinct")),
    *(f"/projects?name=not.{operator}.MARK" for operator in ("cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj", "fts", "plfts", "phfts", "wfts")),
    "/projects?name=in.(a,QUOTED)", "/projects?name=eq(any).{MARK}", "/projects?name=like(all).{MARK}",     "/projects?or=(name.eq.QUOTED,id.gt.1)", "/projects?not.and=(not.name.eq.QUOTED)", "/projects?or=(and(name.in.(QUOTED,b)),id.eq.1)",
    "/projects?meta->QUOTED->>x=eq.1", "/projects?select=x:meta->>QUOTED", "/projects?order=meta->>QUOTED", "/projects?meta->>x=eq.MARK",
    "/projects?select=*,clients(*)&clients.name=eq.MARK", "/projects?select=*,clients(*)&clients.or=(name.eq.QUOTED)",
    "/projects?and=(clients(name.eq.QUOTED))", "/projects?select=client_id,count()&having=name.max().eq.MARK", "/items?tint=eq.MARK", "/items?tint=in.(QUOTED)",
    "/rpc/add?a=MARK", "/rpc/sentence?glue=MARK&words=MARK&words=x", "/rpc/all_projects?name=eq.MARK",
]  # fmt: skip
_markers = st.text("abc'\"\\;-$%*().,:|&<>é\n\t", max_size=12).map(lambda text: f"MARK{text}MARK")


def filled(template: str, marker: str) -> str:
    quoted = '"' + marker.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text, shown = ("QUOTED", quoted) if "QUOTED" in template else (MARK, marker)
    return template.replace(text, quote(shown))


@settings(max_examples=40, deadline=None)
@given(_markers)
def test_values_of_the_url_are_only_ever_parameters(marker: str) -> None:
    targets = [filled(template, marker) for template in VALUES]
    targets.append(filled("/projects?name=fts(MARK).x", marker.replace(")", "")))
    for target in targets:
        asked = ask("GET", target)
        prepared = query_for(asked.plan)

        assert MARK not in prepared.text, target
        assert any(b"MARK" in (each or b"") for each in bind(prepared.params, asked.values)), target


@pytest.mark.parametrize(
    ("method", "target", "body", "headers"),
    [
        ("POST", "/clients", '{"id":1,"name":"MARK"}', {}),
        ("POST", "/clients", '[{"id":1,"name":"MARK"}]', {"prefer": "resolution=merge-duplicates"}),
        ("POST", "/items?columns=name", '{"name":"MARK"}', {"prefer": "missing=default"}),
        ("POST", "/clients", "id,name\n1,MARK\n", {"content_type": "text/csv"}),
        ("POST", "/clients", "id=1&name=MARK", {"content_type": "application/x-www-form-urlencoded"}),
        ("PATCH", "/clients?id=eq.MARK", '{"name":"MARK"}', {}),
        ("PUT", "/clients?id=eq.MARK", '{"id":1,"name":"MARK"}', {}),
        ("POST", "/rpc/add", '{"a":"MARK"}', {}),
        ("POST", "/rpc/add", "a=MARK", {"content_type": "application/x-www-form-urlencoded"}),
        ("POST", "/rpc/takes_text", "MARK", {"content_type": "text/plain"}),
    ],
)
def test_bodies_are_only_ever_parameters(
    method: str, target: str, body: str, headers: dict[str, str]
) -> None:
    asked = ask(method, target, body, **headers)

    prepared = query_for(asked.plan)

    assert MARK not in prepared.text
    assert not any(MARK in before.text for before in prepared.before)
    params = [param for each in (*prepared.before, prepared) for param in each.params]
    slots = [each for each in params if isinstance(each, ParameterSlot)]
    values = [each for each in params if isinstance(each, bytes)]
    assert PAYLOAD in slots or any(b"MARK" in each for each in values)


@pytest.mark.parametrize(
    "target",
    [
        '/clients?select="NAME":name', '/clients?select="NAME"', '/clients?"NAME"=eq.1', '/clients?order="NAME"',
        '/clients?select=*,"NAME":projects(*)&"NAME".id=eq.1', '/clients?id=gt(col)."NAME"', '/clients?distinct="NAME"',
    ],
)  # fmt: skip
def test_names_of_the_url_are_quoted(target: str) -> None:
    hostile = 'x" from secrets; --'

    text = query_for(ask("GET", target.replace("NAME", quote(hostile.replace('"', '\\"')))).plan).text

    assert hostile not in text
    assert 'x"" from secrets; --' in text
    assert is_understood(text)


@settings(max_examples=100, deadline=None)
@given(st.text("abc $_'\"()[];,.-\\é", min_size=1, max_size=12))
def test_a_cast_is_words_or_refused(cast: str) -> None:
    asked = outcome(ask, "GET", f"/clients?select=x:id::{quote(cast)}")

    if not isinstance(asked, RestError):
        assert re.search(r'cast\("public"\."clients"\."id" as [\w $]+\)', query_for(asked.plan).text)
