"""Clients of the OAuth server, providers of single sign-on, and the audit log of auth, by way of the pool auth."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from tests.workers.management.conftest import Client
from tests.workers.management.operations.users.conftest import Project


async def test_a_client_is_made_changed_renewed_and_removed(project: Project, developer: Client) -> None:
    made = await developer.run(
        "oauth_clients.create", client_name="Shop", redirect_uris=["https://shop.example/back"]
    )
    client_id = made["client_id"]
    changed = await developer.run("oauth_clients.change", client_id=client_id, client_name="Shop 2")
    renewed = await developer.run("oauth_clients.renew_secret", client_id=client_id)
    listed = await developer.run("oauth_clients.list")
    await developer.run("oauth_clients.remove", client_id=client_id)

    assert (changed["client_name"], changed["client_secret"]) == ("Shop 2", None)
    assert changed["redirect_uris"] == ["https://shop.example/back"]
    assert made["client_secret"] != renewed["client_secret"]
    assert client_id in {row["client_id"] for row in listed}
    assert (await developer.refused("oauth_clients.read", client_id=client_id))[0] == 404
    rows = await project.admin.fetch(
        "select row_to_json(a)::text as row from headwater.administrator_audit a where operation ~ '^oauth_clients'"
    )
    text = " ".join(row["row"] for row in rows)
    assert "Shop 2" in text
    assert made["client_secret"] not in text
    assert renewed["client_secret"] not in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"client_name": "x", "redirect_uris": ["javascript:alert(1)"]},
        {"client_name": "x", "redirect_uris": []},
        {"client_name": "x"},
    ],
)
async def test_a_malformed_client_is_refused(developer: Client, arguments: dict[str, object]) -> None:
    assert (await developer.refused("oauth_clients.create", **arguments))[0] == 400


async def test_providers_of_single_sign_on_are_listed_and_errors_pass(developer: Client) -> None:
    assert await developer.run("sso_providers.list") == []
    assert await developer.refused("sso_providers.create") == (400, "validation_failed")
    assert (await developer.refused("sso_providers.read", id=str(uuid.uuid4())))[0] == 404
    assert (await developer.refused("sso_providers.remove", id="../users"))[0] in (400, 404)
    refused = await developer.refused("sso_providers.create", metadata_xml="<no metadata/>")
    assert refused[0] == 400


async def test_pages_of_the_audit_log_of_auth_hold_every_entry_once(
    project: Project, developer: Client, reader: Client
) -> None:
    session = await project.sign_up()
    user_id = session["user"]["id"]
    for hours in range(1, 6):
        await developer.run("users.ban", id=user_id, duration=f"{hours}h")
    ids: list[str] = []
    cursor = ""
    while True:
        page = await reader.run("auth_audit.search", user_id=user_id, limit=2, cursor=cursor)
        ids += [row["id"] for row in page["rows"]]
        if page["next"] is None:
            break
        cursor = page["next"]

    stored = await project.admin.fetchval(
        "select count(*) from auth.audit_log_entries"
        " where payload ->> 'actor_id' = $1 or payload #>> '{traits,user_id}' = $1",
        user_id,
    )
    assert len(ids) == len(set(ids)) == stored == 7


async def test_the_audit_log_of_auth_is_filtered(project: Project, reader: Client) -> None:
    session = await project.sign_up()
    email, user_id = session["user"]["email"], session["user"]["id"]
    now = datetime.now(UTC)
    past, future = (now - timedelta(hours=1)).isoformat(), (now + timedelta(hours=1)).isoformat()

    async def actions(**query: object) -> list[str]:
        page = await reader.run("auth_audit.search", **{"user_id": user_id, **query})
        return [row["action"] for row in page["rows"]]

    both = ["login", "user_signedup"]
    assert await actions() == both
    assert await actions(action="login") == ["login"]
    assert await actions(type="team") == ["user_signedup"]
    assert await actions(address="192.0.2.9", text=email[3:20].upper()) == both
    assert await actions(address="192.0.2.10") == []
    assert await actions(since=past, until=future) == both
    assert await actions(since=future) == []
    assert await actions(until=past) == []


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"user_id": "x"},
        {"cursor": "x"},
        {"since": "yesterday"},
        {"until": "2026-01-01T00:00:00"},
        {"text": "\0"},
        {"action": "\ud800"},
    ],
    ids=str,
)
async def test_a_malformed_search_is_refused(reader: Client, query: dict[str, object]) -> None:
    assert await reader.refused("auth_audit.search", **query) == (400, "invalid_arguments")


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("payload ->> 'actor_id' = 'x'", "audit_log_entries_actor_idx"),
        ("payload #>> '{traits,user_id}' = 'x'", "audit_log_entries_subject_idx"),
    ],
)
async def test_the_audit_log_of_a_user_is_read_by_an_index(
    project: Project, condition: str, index: str
) -> None:
    await project.admin.execute("set enable_seqscan = off")
    try:
        plan = await project.admin.fetch(
            f"explain select id from auth.audit_log_entries where {condition} order by created_at desc, id limit 51"
        )
    finally:
        await project.admin.execute("reset enable_seqscan")

    assert index in " ".join(row[0] for row in plan)


async def test_without_the_running_platform_auth_is_not_asked(owner: Client) -> None:
    refused = await owner.refused("users.create", email="a@example.org")

    assert refused == (503, "unavailable")
