"""The Python client itself: schemas, tokens, sessions, tries; and whether its tests left anything of it out."""

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from postgrest import AsyncPostgrestClient, SyncPostgrestClient
from postgrest._async import request_builder as async_builders
from postgrest._sync import request_builder as sync_builders

from tests.conformance.callers import Caller, connect, interrupted_session
from tests.platform import Platform

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

HERE = Path(__file__).parent
OFFERED = [
    *(SyncPostgrestClient, sync_builders.SyncRequestBuilder, sync_builders.SyncSelectRequestBuilder),
    *(sync_builders.SyncRPCFilterRequestBuilder, sync_builders.SyncSingleRequestBuilder),
    *(sync_builders.SyncMaybeSingleRequestBuilder, sync_builders.SyncExplainRequestBuilder),
    *(AsyncPostgrestClient, async_builders.AsyncRequestBuilder, async_builders.AsyncSelectRequestBuilder),
    *(async_builders.AsyncRPCFilterRequestBuilder, async_builders.AsyncSingleRequestBuilder),
    *(async_builders.AsyncMaybeSingleRequestBuilder, async_builders.AsyncExplainRequestBuilder),
]


async def test_another_schema_is_read_written_and_called(db: Caller) -> None:
    warehouse = db.client.schema("warehouse")

    things = await db.rows(warehouse.from_("stock").select("thing").order("thing"))
    added = await db.rows(warehouse.table("stock").insert({"thing": "nails", "amount": 9}).select("amount"))
    removed = await db.rows(warehouse.table("stock").delete().eq("thing", "nails").select("amount"))
    called = [await db.rows(warehouse.rpc("amount_of", {"wanted": "rope"}, get=get)) for get in (False, True)]
    unknown = await db.refusal(warehouse.from_table("clients").select("*"))

    assert things == [{"thing": "rope"}, {"thing": "sand"}]
    assert added == removed == [{"amount": 9}]
    assert called == [5, 5]
    assert unknown.message == "Could not find the table 'warehouse.clients' in the schema cache"


async def test_schema_and_headers_of_a_client(kind: str, client_platform: Platform) -> None:
    one = await connect(
        kind,
        client_platform.url,
        client_platform.values["SERVICE_ROLE_KEY"],
        schema="warehouse",
        headers={"X-Trip": "to the sea"},
        postgrest_client_timeout=60,
    )

    stock = await one.rows(one.client.from_("stock").select("*"))
    header = await one.rows(one.client.schema("public").rpc("header_of", {"name": "x-trip"}))
    await one.close()

    assert len(stock) == 2
    assert header == "to the sea"


async def test_token_and_password_of_a_plain_client(
    kind: str, client_platform: Platform, tokens: dict[str, str]
) -> None:
    headers = {"apikey": client_platform.values["ANON_KEY"]}
    form = SyncPostgrestClient if kind == "sync" else AsyncPostgrestClient
    one = Caller(form(client_platform.values["REST_URL"], headers=headers))
    await one.run(one.client.auth(tokens["TOKEN_ADA"]).table("secrets").insert({"owner": "ada", "body": "x"}))

    one.client.auth(None, username="ada", password="not for us")
    as_nobody = [await one.rows(one.table(name).select("*")) for name in ("clients", "secrets")]
    one.client.auth(tokens["TOKEN_ADA"])
    mine = await one.rows(one.table("secrets").delete().eq("owner", "ada").select("body"))
    closed = one.client.aclose()
    if inspect.isawaitable(closed):
        await closed

    assert [len(rows) for rows in as_nobody] == [2, 0]
    assert mine == [{"body": "x"}]


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_lost_connection_is_tried_again(
    kind: str, client_platform: Platform, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    for builders in (sync_builders, async_builders):
        monkeypatch.setattr(builders, "get_retry_delay", lambda _: 0)
    sent: list[str | None] = []
    session = interrupted_session(kind, failures, sent)
    one = await connect(
        kind, client_platform.url, client_platform.values["SERVICE_ROLE_KEY"], httpx_client=session
    )

    found = await one.rows(one.table("clients").select("id").eq("id", 1).retry(True))
    await one.close()

    assert found == [{"id": 1}]
    assert sent == [None, "1", "2"][: failures + 1]


async def test_tries_are_switched_off_for_each_kind_of_query(kind: str, client_platform: Platform) -> None:
    key = client_platform.values["SERVICE_ROLE_KEY"]
    sent: list[str | None] = []
    session = interrupted_session(kind, 5, sent)
    one = await connect(kind, client_platform.url, key, httpx_client=session)
    without = await connect(
        kind, client_platform.url, key, httpx_client=session, postgrest_client_retry=False
    )
    clients = one.table("clients")
    queries = [
        clients.select("id").retry(False),
        clients.select("id").single().retry(False),
        clients.select("id").maybe_single().retry(False),
        clients.select("id").explain().retry(False),
        without.table("clients").select("id"),
    ]

    for query in queries:
        with pytest.raises(httpx.ConnectError):
            await one.run(query)
    found = await one.rows(clients.select("id").eq("id", 1).single())
    await one.close()

    assert found == {"id": 1}
    assert sent == [None] * 6


def test_every_public_method_and_option_is_called_by_the_tests() -> None:
    called = _called()

    missing = sorted(
        f"{name}({option})" if option else name
        for name, option, position in _offered()
        if name not in called or (option and not called[name] & {option, position})
    )

    assert missing == []


def _offered() -> Iterator[tuple[str, str, int]]:
    """Give the name of every public method, then with each of its optional arguments and their positions."""
    for owner in OFFERED:
        for name, member in inspect.getmembers(owner):
            if name.startswith("_"):
                continue
            yield name, "", -1
            if isinstance(member, property):
                continue
            for position, each in enumerate(list(inspect.signature(member).parameters.values())[1:]):
                if each.default is not each.empty:
                    yield name, each.name, position if each.kind is each.POSITIONAL_OR_KEYWORD else -1


def _called() -> dict[str, set[object]]:
    """Give what the tests call: names, and for each the keywords and the positions of what was given."""
    called: dict[str, set[object]] = defaultdict(set)
    for path in (HERE / "callers.py", *HERE.glob("test_supabase_py*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr=name)):
                    called[name] |= {*range(len(node.args)), *(each.arg for each in node.keywords)}
                case ast.Attribute(attr=name):
                    called[name] |= set()
    return called
