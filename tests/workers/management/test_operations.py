"""Every operation with every right and without one; the audit log; the last owner; the description of the interface."""

import json
import uuid

import pytest

from tests.workers.database.server import connected
from tests.workers.management.conftest import Client
from workers.management.interface.operation import Operation
from workers.management.interface.rights import Right
from workers.management.operations import operation_table

OPERATIONS = operation_table().all()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_an_operation_needs_its_right_and_a_session(visitor: Client, operation: Operation) -> None:
    assert await visitor.refused(operation.name) == (401, "not_signed_in")

    codes = {}
    for right in Right:
        client = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", right)
        response = await client.send("POST", f"/operations/{operation.name}", {})
        codes[right] = json.loads(response.body).get("code") if response.status != 200 else ""

    for right, code in codes.items():
        if right.includes(operation.right):
            assert code != "no_right", right
        else:
            assert code == "no_right", right


async def test_a_change_and_a_refused_one_are_in_the_audit_log(owner: Client, visitor: Client) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    email = f"{uuid.uuid4().hex}@example.com"
    await owner.run("administrators.add", email=email, rights="reader")
    await reader.refused("administrators.add", email="mallory@example.com", rights="owner")

    rows = (await owner.run("audit.list", operation="administrators.add", limit=2))["rows"]

    assert [row["outcome"] for row in rows] == ["no_right", "done"]
    assert rows[1]["after"]["email"] == email
    assert rows[1]["request_id"] == "request-1"


async def test_the_audit_log_has_no_secrets(owner: Client) -> None:
    await owner.run("account.set_password", password="a password of mine")
    created = await owner.run("tokens.create", name="ci")

    text = json.dumps(await owner.run("audit.list"))

    assert "a password of mine" not in text
    assert created["secret"] not in text


async def test_a_long_argument_does_not_hide_the_others(owner: Client) -> None:
    rows = [{"text": "x" * 100_000}]
    await owner.refused("rows.insert", schema="public", table="not_there", rows=rows)
    await owner.refused("rows.insert", table="y" * 20_000, rows=[{"z" * 8_000: 1} for _ in range(9)])

    [wide, long] = (await owner.run("audit.list", operation="rows.insert", limit=2))["rows"]

    assert (long["arguments"]["table"], long["arguments"]["schema"]) == ("not_there", "public")
    assert long["arguments"]["rows"]["omitted"] > 100_000
    assert wide["arguments"]["table"].startswith("yyy")


async def test_pages_of_the_audit_log_hold_every_row_once(owner: Client) -> None:
    for _ in range(3):
        await owner.run("tokens.create", name="page")
    ids, before = [], None
    while True:
        page = await owner.run("audit.list", before=before, limit=2)
        ids += [row["id"] for row in page["rows"]]
        before = page["next"]
        if before is None:
            break

    assert len(ids) == len(set(ids)) >= 3
    assert ids == sorted(ids, reverse=True)


async def test_the_last_owner_stays(owner: Client) -> None:
    for other in await owner.run("administrators.list"):
        if other["email"] != (await owner.run("account.me"))["name"]:
            await owner.run("administrators.remove", id=other["id"])
    [last] = await owner.run("administrators.list")

    assert await owner.refused("administrators.remove", id=last["id"]) == (409, "last_owner")
    assert await owner.refused("administrators.change", id=last["id"], rights="reader") == (409, "last_owner")
    assert await owner.refused("administrators.change", id=last["id"], rights="owner", disabled=True) == (
        409,
        "last_owner",
    )


async def test_the_catalog_is_described(owner: Client) -> None:
    schemas = {schema["name"] for schema in await owner.run("catalog.schemas")}
    tables = {table["name"]: table for table in await owner.run("catalog.tables", schema="auth")}

    assert {"public", "auth", "storage"} <= schemas
    assert tables["users"]["has_row_security"]
    assert tables["users"]["kind"] == "table"


@pytest.mark.parametrize(
    "arguments", [{"schema": ""}, {"schema": "x" * 64}, {"schema": "a\0b"}, {"schema": 1}, {"other": "x"}]
)
async def test_arguments_that_do_not_fit_are_refused(owner: Client, arguments: dict[str, object]) -> None:
    assert await owner.refused("catalog.tables", **arguments) == (400, "invalid_arguments")


async def test_the_interface_describes_itself(visitor: Client) -> None:
    response = await visitor.send("GET", "/openapi.json")

    document = json.loads(response.body)
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {f"/operations/{operation.name}" for operation in OPERATIONS}
    assert (await visitor.send("GET", "/operations/account.me")).status == 405
    assert (await visitor.send("GET", "/nothing")).status == 404


async def test_tokens_of_an_administrator_are_limited(visitor: Client) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    me = (await reader.run("account.me"))["administrator_id"]
    async with connected(reader.superuser_url) as admin:
        await admin.execute(
            "insert into headwater.administrator_tokens (name, secret, hint, rights, may_write, administrator_id)"
            " select 'many', sha256(($1 || n)::bytea), 'abcd', 'reader', false, $1::uuid from generate_series(1, 500) as n",
            me,
        )

    assert await reader.refused("tokens.create", name="more") == (409, "too_many_tokens")
    await reader.run("tokens.remove", id=(await reader.run("tokens.list"))[0]["id"])
    assert await reader.run("tokens.create", name="more")
