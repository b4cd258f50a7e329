"""Clients in the hands of admins. Reference, sections 15 and 16.8."""

import json
import uuid
from typing import Any

import pytest

from tests.workers.auth.auth_pool import ADMIN, told
from tests.workers.auth.federation.oauth_server.flow import Client, Flow

PATH = "/admin/oauth/clients"
NOT_FOUND = (404, "oauth_client_not_found", "OAuth client not found")


def path_of(client: Client, more: str = "") -> str:
    return f"{PATH}/{client['client_id']}{more}"


def without_secret(client: Client) -> Client:
    return {name: value for name, value in client.items() if name != "client_secret"}


async def test_the_secret_is_told_once(flow: Flow):
    made = await flow.client()

    assert made["registration_type"] == "manual"
    assert len(made["client_secret"]) == 43
    assert await flow.auth_pool.ok("GET", path_of(made), None, ADMIN) == without_secret(made)
    everything = await flow.auth_pool.value("select to_jsonb(c)::text from auth.oauth_clients c where id = $1",
                                        uuid.UUID(made["client_id"]))  # fmt: skip
    assert made["client_secret"] not in everything


async def test_what_is_wrong_with_a_client_is_told(flow: Flow):
    refused = await flow.refused("POST", PATH, ADMIN, {"redirect_uris": ["javascript:alert(1)"]})

    assert refused == (400, "validation_failed", "a redirect URI must not have the scheme javascript")


async def test_a_change_takes_what_is_given(flow: Flow):
    made = await flow.client(client_uri="https://client.example/")
    changes = {"client_name": "Another name", "redirect_uris": ["myapp://callback"], "client_uri": ""}

    changed = await flow.auth_pool.ok("PUT", path_of(made), changes, ADMIN)

    assert changed.pop("updated_at") >= made["updated_at"]
    expected = without_secret(made) | {"client_name": "Another name", "redirect_uris": ["myapp://callback"]}
    del expected["client_uri"], expected["updated_at"]
    assert changed == expected
    assert (await flow.auth_pool.ok("GET", path_of(made), None, ADMIN))["client_name"] == "Another name"


async def test_an_address_that_was_taken_away_gets_nothing_more(flow: Flow):
    client = await flow.client()
    await flow.auth_pool.ok("PUT", path_of(client), {"redirect_uris": ["myapp://callback"]}, ADMIN)

    assert (await flow.authorize(client)).status == 400


@pytest.mark.parametrize("body", [{"client_type": "public"}, {"redirect_uris": []}, {"grant_types": ["x"]}])
async def test_a_change_is_checked_as_a_registration_is(flow: Flow, body: dict[str, Any]):
    client = await flow.client()

    assert (await flow.refused("PUT", path_of(client), ADMIN, body))[:2] == (400, "validation_failed")


async def test_a_new_secret_is_told_once_too(flow: Flow):
    made = await flow.client()

    renewed = await flow.auth_pool.ok("POST", path_of(made, "/regenerate_secret"), None, ADMIN)

    assert renewed["client_secret"] != made["client_secret"]
    assert renewed["updated_at"] >= made["updated_at"]


async def test_a_public_client_gets_no_secret(flow: Flow):
    made = await flow.public()

    assert "client_secret" not in made
    refused = await flow.refused("POST", path_of(made, "/regenerate_secret"), ADMIN)
    assert refused == (400, "validation_failed", "A public client has no secret")


async def test_a_deleted_client_is_gone_but_its_row_stays(flow: Flow):
    made = await flow.client()
    response = await flow.auth_pool.send("DELETE", path_of(made), None, ADMIN)
    deleted_at = await flow.auth_pool.value(
        "select deleted_at from auth.oauth_clients where id = $1", uuid.UUID(made["client_id"])
    )

    assert (response.status, response.body) == (204, b"")
    assert deleted_at is not None
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/regenerate_secret")):
        assert await flow.refused(method, path_of(made, path), ADMIN, {}) == NOT_FOUND


async def test_the_list_is_paged_newest_first(flow: Flow):
    made = [await flow.client(client_name=str(number)) for number in range(3)]
    response = await flow.auth_pool.send("GET", f"{PATH}?page=1&per_page=2", None, ADMIN)
    total = int(told(response, "x-total-count"))
    shown = json.loads(response.body)

    assert shown == {"clients": [without_secret(made[2]), without_secret(made[1])]}
    assert total >= 3
    last = -(-total // 2)
    assert told(response, "link") == (
        f'<{PATH}?page=2&per_page=2>; rel="next", <{PATH}?page={last}&per_page=2>; rel="last"'
    )
    assert (await flow.refused("GET", f"{PATH}?page=-1", ADMIN))[:2] == (400, "validation_failed")


async def test_a_client_of_another_id_is_not_found(flow: Flow):
    assert await flow.refused("GET", f"{PATH}/{uuid.uuid4()}", ADMIN) == NOT_FOUND
    assert (await flow.refused("GET", f"{PATH}/x", ADMIN))[:2] == (404, "validation_failed")
