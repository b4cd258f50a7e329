"""Sessions, factors and identities of users of the project, and acting as one of them."""

import uuid
from typing import Any

import jwt
import pytest

from tests.workers.auth.auth_pool import PASSWORD
from tests.workers.management.conftest import Client
from tests.workers.management.operations.users.conftest import Project
from workers.management.interface.rights import Right


async def _sessions(project: Project, user_id: str) -> list[str]:
    rows = await project.admin.fetch(
        "select id::text from auth.sessions where user_id = $1 order by created_at", uuid.UUID(user_id)
    )
    return [row["id"] for row in rows]


async def _second_session(project: Project, session: dict[str, Any]) -> None:
    body = {"email": session["user"]["email"], "password": PASSWORD}
    status, _ = await project.auth("POST", "/token?grant_type=password", body)
    assert status == 200


async def test_one_session_ends_or_all_do(project: Project, developer: Client) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]
    await _second_session(project, session)
    first, second = await _sessions(project, user_id)

    await developer.run("users.end_session", id=user_id, session_id=first)
    after_one = await _sessions(project, user_id)
    await developer.run("users.sign_out", id=user_id)

    assert after_one == [second]
    assert await _sessions(project, user_id) == []
    unknown = await developer.refused("users.end_session", id=user_id, session_id=str(uuid.uuid4()))
    assert unknown == (404, "session_not_found")


async def test_a_factor_is_removed(project: Project, developer: Client, reader: Client) -> None:
    session = await project.sign_up()
    user_id, caller = session["user"]["id"], project.caller(session["access_token"])
    status, factor = await project.auth("POST", "/factors", {"factor_type": "totp"}, caller)
    assert status == 200

    listed = (await reader.run("users.read", id=user_id))["user"]["factors"]
    await developer.run("users.remove_factor", id=user_id, factor_id=factor["id"])

    assert [row["id"] for row in listed] == [factor["id"]]
    assert factor["totp"]["secret"] not in str(listed)
    assert (await reader.run("users.read", id=user_id))["user"]["factors"] == []
    assert (await developer.refused("users.remove_factor", id=user_id, factor_id=factor["id"]))[0] == 404
    assert (await developer.refused("users.remove_passkey", id=user_id, passkey_id=factor["id"]))[0] == 404


async def test_an_identity_is_removed_but_not_the_last_one(
    project: Project, developer: Client, reader: Client
) -> None:
    phone = f"4915{uuid.uuid4().int % 10**9:09}"
    created = await developer.run(
        "users.create",
        email=f"{uuid.uuid4().hex}@example.org",
        phone=phone,
        email_confirm=True,
        phone_confirm=True,
    )
    user_id = created["user"]["id"]
    of = {
        row["provider"]: row["id"]
        for row in (await reader.run("users.read", id=user_id))["user"]["identities"]
    }

    await developer.run("users.remove_identity", id=user_id, identity_id=of["phone"])
    last = await developer.refused("users.remove_identity", id=user_id, identity_id=of["email"])

    assert last == (422, "single_identity_not_deletable")
    assert (await reader.run("users.read", id=user_id))["user"]["phone"] is None


async def test_a_developer_acts_as_a_user_for_minutes(project: Project, developer: Client) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]
    before = await _sessions(project, user_id)

    token = await developer.run("users.sign_in_as", id=user_id, lasts_s=120)
    claims = jwt.decode(token["access_token"], options={"verify_signature": False})
    caller = project.caller(token["access_token"])

    me = (await developer.run("account.me"))["name"]
    assert claims["act"] == {"sub": me, "kind": "administrator"}
    assert (claims["sub"], claims["exp"] - claims["iat"], token["expires_in"]) == (user_id, 120, 120)
    assert (await project.auth("GET", "/user", None, caller))[1]["id"] == user_id
    status, error = await project.auth("PUT", "/user", {"password": "another good password"}, caller)
    assert (status, error["error_code"]) == (403, "no_authorization")
    assert await _sessions(project, user_id) == before
    row = await project.admin.fetchrow(
        "select arguments, outcome, after::text as after from headwater.administrator_audit"
        " where operation = 'users.sign_in_as' order by id desc limit 1"
    )
    assert (row["outcome"], token["access_token"] in row["after"]) == ("done", False)
    audit = (await developer.run("auth_audit.search", user_id=user_id, action="login"))["rows"]
    assert audit[0]["traits"]["acting"] == me


async def test_a_limited_administrator_makes_and_changes_no_user_whose_tokens_pass_policies(
    project: Project, developer: Client
) -> None:
    visitor = Client(project.worker, project.superuser_url)
    owner = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.OWNER)
    role, me = uuid.uuid4().hex, (await developer.run("account.me"))["administrator_id"]
    await owner.run("roles.save", name=role, areas={"users": "change"})
    await owner.run("administrators.change", id=me, rights="developer", role=role)
    user_id = (await project.sign_up())["user"]["id"]
    service = (await project.sign_up())["user"]
    await project.admin.execute("update auth.users set role = 'service_role' where id = $1", service["id"])

    email = f"{uuid.uuid4().hex}@example.org"
    refused = [
        await developer.refused("users.change", id=user_id, role="service_role"),
        await developer.refused("users.create", email=email, role="supabase_admin"),
        await developer.refused("users.sign_in_as", id=service["id"]),
        await developer.refused("users.set_password", id=service["id"], password="long enough 1"),
        await developer.refused("users.generate_link", type="magiclink", email=service["email"]),
    ]
    await developer.run("users.change", id=user_id, role="authenticated", user_metadata={"name": "a"})
    token = (await developer.run("users.sign_in_as", id=user_id))["access_token"]

    assert refused == [(403, "no_right")] * 5
    assert jwt.decode(token, options={"verify_signature": False})["role"] == "authenticated"


@pytest.mark.parametrize("lasts_s", [0, -1, 3601, 10**9])
async def test_acting_is_bounded(project: Project, developer: Client, lasts_s: int) -> None:
    session = await project.sign_up()

    refused = await developer.refused("users.sign_in_as", id=session["user"]["id"], lasts_s=lasts_s)

    assert refused == (400, "invalid_arguments")


async def test_nobody_acts_as_a_banned_user(project: Project, developer: Client) -> None:
    session = await project.sign_up()
    await developer.run("users.ban", id=session["user"]["id"], duration="1h")

    assert await developer.refused("users.sign_in_as", id=session["user"]["id"]) == (403, "user_banned")


async def test_a_reader_looks_and_changes_nothing(project: Project, reader: Client) -> None:
    user_id = (await project.sign_up())["user"]["id"]

    await reader.run("users.read", id=user_id)
    for name in ("users.sign_in_as", "users.sign_out", "users.delete", "users.generate_link", "users.create"):
        assert await reader.refused(name, id=user_id) == (403, "no_right"), name
