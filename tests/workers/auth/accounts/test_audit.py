import json
from uuid import uuid4

import pytest

from schemas.http import Request
from tests.workers.auth.auth_pool import ADMIN, AuthPool, told
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser

ASKED = AuthRequest(Request("r", "POST", "/token", "", [], client="192.0.2.9"), b"", {})


def person(**more: object) -> AuthUser:
    return AuthUser(uuid4(), email=f"{uuid4().hex}@example.org", **more)  # type: ignore[arg-type]  # fields of a user


async def write(auth_pool: AuthPool, action: AuditAction, actor: AuthUser, **traits: object) -> None:
    async with auth_pool.context.transaction() as transaction:
        await audit.record(auth_pool.context, transaction, ASKED, action, actor, traits)


async def read(auth_pool: AuthPool, query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = await auth_pool.ok("GET", f"/admin/audit?query={query}", caller=ADMIN)
    return found


async def test_an_entry_tells_who_did_what_from_where(auth_pool: AuthPool):
    ann = person(raw_user_meta_data={"full_name": "Ann Lee"})

    await write(auth_pool, AuditAction.FACTOR_DELETED, ann, factor_id="f")

    (entry,) = await read(auth_pool, f"author:{ann.email}")
    assert entry["ip_address"] == "192.0.2.9"
    assert entry["payload"] == {
        "actor_id": str(ann.id),
        "actor_via_sso": False,
        "actor_username": ann.email,
        "actor_name": "Ann Lee",
        "action": "factor_deleted",
        "log_type": "factor",
        "traits": {"factor_id": "f"},
    }
    assert str(entry["created_at"]).endswith("Z")


async def test_entries_are_found_by_author_action_and_type(auth_pool: AuthPool):
    mark = uuid4().hex
    ann = person(raw_user_meta_data={"full_name": f"Ann {mark}"})
    for action in (AuditAction.LOGIN, AuditAction.TOKEN_REFRESHED):
        await write(auth_pool, action, ann)

    assert len(await read(auth_pool, f"author:{mark.upper()}")) == 2
    assert await read(auth_pool, "action:token_refreshed")
    kinds = {str(each["payload"]["log_type"]) for each in await read(auth_pool, "type:token")}  # type: ignore[index]  # an object
    assert kinds == {"token"}


async def test_the_newest_comes_first_and_pages_have_headers(auth_pool: AuthPool):
    ann = person()
    for action in (AuditAction.LOGIN, AuditAction.LOGOUT, AuditAction.LOGIN):
        await write(auth_pool, action, ann)

    response = await auth_pool.send("GET", f"/admin/audit?query=author:{ann.email}&per_page=2", caller=ADMIN)

    actions = [each["payload"]["action"] for each in json.loads(response.body)]
    assert actions == ["login", "logout"]
    assert told(response, "x-total-count") == "3"
    assert 'rel="next"' in told(response, "link")


async def test_the_database_may_be_spared(auth_pool: AuthPool):
    ann = person()

    await write(auth_pool.having(audit_log__disable_postgres=True), AuditAction.LOGIN, ann)

    assert await read(auth_pool, f"author:{ann.email}") == []


@pytest.mark.parametrize("query", ["ann", "name:ann", ":"])
async def test_a_query_without_a_known_field_is_refused(auth_pool: AuthPool, query: str):
    refused = await auth_pool.refused("GET", f"/admin/audit?query={query}", caller=ADMIN)

    assert refused[:2] == (400, "validation_failed")


def test_every_action_has_its_group():
    assert {each.log_type for each in AuditAction} == {"account", "team", "token", "user", "factor"}
    assert AuditAction("login") is AuditAction.LOGIN
