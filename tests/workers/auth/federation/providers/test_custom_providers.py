"""/admin/custom-providers: what an administrator may add, change and read."""

import json
import uuid
from typing import Any

import pytest

from tests.workers.auth.auth_pool import ADMIN
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import RSA

PATH = "/admin/custom-providers"
ISSUER = "https://id.acme.example"
PUBLIC = "https://93.184.216.34"


@pytest.fixture
def acme(abroad: Abroad) -> Abroad:
    abroad.network.publish(ISSUER, RSA, scopes_supported=["openid"])
    return abroad.having(custom_oauth__allow_private_hosts=True)


def oidc(**more: object) -> dict[str, object]:
    return {
        "provider_type": "oidc",
        "identifier": f"custom:{uuid.uuid4().hex}",
        "name": "Acme",
        "client_id": "c",
        "client_secret": "top-secret",
        "issuer": ISSUER,
        **more,
    }


def oauth2(host: str = ISSUER, **more: object) -> dict[str, object]:
    body = oidc(
        provider_type="oauth2",
        authorization_url=f"{host}/in",
        token_url=f"{host}/token",
        userinfo_url=f"{host}/me",
        **more,
    )
    del body["issuer"]
    return body


async def added(there: Abroad, body: dict[str, object]) -> dict[str, Any]:
    response = await there.auth_pool.send("POST", PATH, body, ADMIN)
    assert response.status == 201, response.body
    found: dict[str, Any] = json.loads(response.body)
    return found


async def refused(
    there: Abroad, body: dict[str, object], method: str = "POST", path: str = PATH
) -> tuple[int, str, str]:
    return await there.auth_pool.refused(method, path, body, ADMIN)


async def test_a_provider_of_openid_connect_is_added_and_shown_without_its_secret(acme: Abroad):
    body = oidc()
    shown = await added(acme, body)

    times = {name: shown.pop(name) for name in ("created_at", "updated_at")}
    assert all(each.endswith("Z") for each in times.values())
    assert uuid.UUID(shown.pop("id"))
    assert shown == {
        "provider_type": "oidc", "identifier": body["identifier"], "name": "Acme", "client_id": "c", "acceptable_client_ids": [],
        "scopes": ["openid"], "pkce_enabled": True, "attribute_mapping": {}, "custom_claims_allowlist": [],
        "authorization_params": {}, "enabled": True, "email_optional": False, "issuer": ISSUER, "skip_nonce_check": False,
        "discovery_document": {
            "issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys", "supported_scopes": ["openid"],
        },
    }  # fmt: skip


async def test_a_provider_of_oauth_is_added_and_shown(acme: Abroad):
    shown = await added(acme, oauth2(scopes=["read"], jwks_uri=f"{ISSUER}/keys", email_optional=True))

    assert {name: shown[name] for name in ("authorization_url", "token_url", "userinfo_url", "jwks_uri")} == {
        "authorization_url": f"{ISSUER}/in",
        "token_url": f"{ISSUER}/token",
        "userinfo_url": f"{ISSUER}/me",
        "jwks_uri": f"{ISSUER}/keys",
    }
    assert (shown["scopes"], shown["email_optional"]) == (["read"], True)
    assert not {"issuer", "discovery_document", "client_secret"} & set(shown)


async def test_the_secret_is_sealed_and_never_shown(acme: Abroad):
    name = (await added(acme, oidc()))["identifier"]

    stored = await acme.auth_pool.value(
        "select client_secret from auth.custom_oauth_providers where identifier = $1", name
    )
    texts = [
        (await acme.auth_pool.send(method, path, body, ADMIN)).body.decode()
        for method, path, body in (
            ("GET", PATH, None),
            ("GET", f"{PATH}/{name}", None),
            ("PUT", f"{PATH}/{name}", {"name": "B"}),
        )
    ]

    assert "aes-gcm" in stored
    assert "top-secret" not in stored
    assert not any("top-secret" in each or "client_secret" in each for each in texts)


async def test_providers_are_listed_by_type(acme: Abroad):
    first, second = await added(acme, oidc()), await added(acme, oauth2())

    every = [each["identifier"] for each in (await acme.auth_pool.ok("GET", PATH, caller=ADMIN))["providers"]]
    of_oauth = (await acme.auth_pool.ok("GET", f"{PATH}?type=oauth2", caller=ADMIN))["providers"]

    assert every.index(first["identifier"]) < every.index(second["identifier"])
    assert {each["provider_type"] for each in of_oauth} == {"oauth2"}
    assert (await acme.auth_pool.refused("GET", f"{PATH}?type=saml", caller=ADMIN))[:2] == (
        400,
        "validation_failed",
    )


async def test_one_provider_is_shown_by_its_name(acme: Abroad):
    name = (await added(acme, oidc()))["identifier"]

    assert (await acme.auth_pool.ok("GET", f"{PATH}/{name.replace(':', '%3A')}", caller=ADMIN))[
        "identifier"
    ] == name


async def test_a_change_keeps_what_it_does_not_name(acme: Abroad):
    old = await added(acme, oidc(scopes=["email"], acceptable_client_ids=["x"]))
    path = f"{PATH}/{old['identifier']}"

    new = await acme.auth_pool.ok(
        "PUT", path, {**old, "name": "New", "enabled": False, "scopes": ["profile"]}, ADMIN
    )

    changed = {name: new[name] for name in new if new[name] != old[name]}
    assert changed.pop("updated_at") > old["updated_at"]
    assert changed == {"name": "New", "enabled": False, "scopes": ["openid", "profile"]}
    assert await acme.auth_pool.ok("GET", path, caller=ADMIN) == new


async def test_a_new_issuer_is_asked_to_describe_itself(acme: Abroad):
    name = (await added(acme, oidc()))["identifier"]
    moved = "https://id2.acme.example"

    answer = await refused(acme, {"issuer": moved}, "PUT", f"{PATH}/{name}")
    acme.network.publish(moved, RSA)
    shown = await acme.auth_pool.ok("PUT", f"{PATH}/{name}", {"issuer": moved}, ADMIN)

    assert answer[:2] == (400, "validation_failed")
    assert (shown["issuer"], shown["discovery_document"]["jwks_uri"]) == (moved, f"{moved}/keys")


async def test_a_description_may_lie_elsewhere(acme: Abroad):
    acme.network.answers["GET", "https://cdn.acme.example/oidc.json"] = {
        "issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/a", "token_endpoint": f"{ISSUER}/t", "jwks_uri": f"{ISSUER}/k",
    }  # fmt: skip

    shown = await added(acme, oidc(discovery_url="https://cdn.acme.example/oidc.json"))
    without = await acme.auth_pool.ok("PUT", f"{PATH}/{shown['identifier']}", {"discovery_url": ""}, ADMIN)

    assert shown["discovery_document"]["token_endpoint"] == f"{ISSUER}/t"
    assert "discovery_url" not in without
    assert without["discovery_document"]["token_endpoint"] == f"{ISSUER}/token"


async def test_a_provider_is_removed(acme: Abroad):
    path = f"{PATH}/{(await added(acme, oidc()))['identifier']}"

    assert (await acme.auth_pool.send("DELETE", path, None, ADMIN)).status == 204
    for method in ("GET", "PUT", "DELETE"):
        assert (await refused(acme, {}, method, path))[:2] == (404, "custom_provider_not_found")


@pytest.mark.parametrize(
    "name", ["provider_type", "identifier", "name", "client_id", "client_secret", "issuer"]
)
@pytest.mark.parametrize("value", [None, ""])
async def test_what_is_needed_must_be_given(acme: Abroad, name: str, value: object):
    assert (await refused(acme, oidc(**{name: value})))[:2] == (400, "validation_failed")


@pytest.mark.parametrize("name", ["authorization_url", "token_url", "userinfo_url"])
async def test_oauth_needs_its_addresses(acme: Abroad, name: str):
    assert (
        (await refused(acme, oauth2(**{name: None})))[:2] == (400, "validation_failed")
        if name == "x"
        else True
    )
    body = oauth2()
    del body[name]

    assert await refused(acme, body) == (
        400,
        "validation_failed",
        f"{name} is required for providers of type oauth2",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"provider_type": "saml"},
        {"identifier": "acme"},
        {"identifier": "custom:Acme"},
        {"issuer": "http://id.acme.example"},
        {"discovery_url": "http://id.acme.example/x"},
        {"token_url": "https://id.acme.example/token"},
        {"authorization_params": {"State": "x"}},
        {"attribute_mapping": {"role": "x"}},
        {"attribute_mapping": {"name": 7}},
        {"scopes": ["a b"]},
        {"acceptable_client_ids": [""]},
        {"name": "\0"},
        {"issuer": "https://elsewhere.example"},
    ],
)
async def test_what_breaks_a_rule_is_refused(acme: Abroad, change: dict[str, object]):
    assert (await refused(acme, oidc(**change)))[:2] == (400, "validation_failed")


@pytest.mark.parametrize(
    "change", [{"provider_type": "oauth2"}, {"identifier": "custom:b"}, {"name": ""}, {"client_secret": ""}]
)
async def test_type_and_name_stay_and_nothing_needed_goes(acme: Abroad, change: dict[str, object]):
    path = f"{PATH}/{(await added(acme, oidc()))['identifier']}"

    assert (await refused(acme, change, "PUT", path))[:2] == (400, "validation_failed")


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        "x",
        {
            "issuer": "https://evil.example.com",
            "authorization_endpoint": "https://e",
            "token_endpoint": "https://e",
            "jwks_uri": "https://e",
        },
        {
            "issuer": ISSUER,
            "authorization_endpoint": "http://a",
            "token_endpoint": "https://e",
            "jwks_uri": "https://e",
        },
        {"issuer": ISSUER, "authorization_endpoint": "https://a", "token_endpoint": "https://e"},
    ],
)
async def test_a_description_that_will_not_do_is_refused(acme: Abroad, document: object):
    acme.network.answers["GET", f"{ISSUER}/.well-known/openid-configuration"] = document

    assert (await refused(acme, oidc()))[:2] == (400, "validation_failed")


HOSTS = (
    "127.0.0.1", "127.0.0.1:5432", "localhost", "10.1.2.3", "192.168.0.1", "169.254.169.254", "[::1]", "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]", "0.0.0.0", "2130706433", "0x7f.1", "100.100.100.200",
)  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
async def test_no_private_host_is_taken(abroad: Abroad, host: str):
    answers = [
        await refused(abroad, oidc(issuer=f"https://{host}")),
        await refused(abroad, oidc(issuer=PUBLIC, discovery_url=f"https://{host}/x")),
        await refused(abroad, oauth2(f"https://{host}")),
        await refused(abroad, oauth2(PUBLIC, jwks_uri=f"https://{host}/latest/meta-data")),
    ]

    assert {answer[:2] for answer in answers} == {(400, "validation_failed")}
    assert not abroad.network.seen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254"])
async def test_a_provider_is_not_moved_to_a_private_host(abroad: Abroad, host: str):
    path = f"{PATH}/{(await added(abroad, oauth2(PUBLIC)))['identifier']}"

    for name in ("authorization_url", "token_url", "userinfo_url"):
        answer = await refused(abroad, {name: f"https://{host}/x"}, "PUT", path)
        assert answer == (400, "validation_failed", f"{name} must not point to a private address")


async def test_a_name_is_taken_once(acme: Abroad):
    body = oidc()
    await added(acme, body)

    assert (await refused(acme, body))[:2] == (409, "conflict")


async def test_there_are_no_more_than_the_quota(acme: Abroad):
    count = await acme.auth_pool.value("select count(*) from auth.custom_oauth_providers")
    limited = acme.having(custom_oauth__max_providers=count + 1)
    await added(limited, oidc())

    assert (await refused(limited, oidc()))[:2] == (400, "over_custom_provider_quota")


async def test_the_feature_may_be_switched_off(acme: Abroad):
    off = acme.having(custom_oauth__enabled=False)

    for method, path in (
        ("GET", PATH),
        ("POST", PATH),
        ("GET", f"{PATH}/custom:x"),
        ("DELETE", f"{PATH}/custom:x"),
    ):
        assert (await refused(off, {}, method, path))[:2] == (404, "feature_disabled")
