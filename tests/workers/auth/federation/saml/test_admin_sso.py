"""Identity providers in the hands of trusted servers."""

import json
import uuid
from typing import Any

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool
from tests.workers.auth.federation.saml.conftest import known
from tests.workers.auth.federation.saml.idp import EMAIL_FORM, PERSISTENT, Idp

PLACE = "/admin/sso/providers"
MISSING = (404, "sso_provider_not_found", "SSO Identity Provider not found")


def body(idp: Idp | None = None, **more: object) -> dict[str, object]:
    return {"type": "saml", "metadata_xml": (idp or Idp()).metadata(), **more}


async def made(auth_pool: AuthPool, given: dict[str, object]) -> dict[str, Any]:
    response = await auth_pool.send("POST", PLACE, given, ADMIN)
    assert response.status == 201, response
    shown: dict[str, Any] = json.loads(response.body)
    return shown


def domain() -> str:
    return f"{uuid.uuid4().hex}.example.org"


async def test_a_provider_is_made_as_it_is_shown(sso: AuthPool):
    idp, first, second = Idp(), domain(), domain()
    mapping = {
        "keys": {"name": {"name": "cn"}, "groups": {"names": ["a", "b"], "array": True, "default": []}}
    }

    shown = await made(
        sso,
        body(
            idp,
            domains=[first.upper(), second, first],
            attribute_mapping=mapping,
            name_id_format=EMAIL_FORM,
            resource_id="crm",
        ),
    )

    assert uuid.UUID(shown["id"])
    assert shown["resource_id"] == "crm"
    assert shown["disabled"] is False
    assert shown["saml"] == {
        "entity_id": idp.entity_id,
        "metadata_xml": idp.metadata(),
        "attribute_mapping": mapping,
        "name_id_format": EMAIL_FORM,
    }
    assert sorted(each["domain"] for each in shown["domains"]) == sorted([first, second])
    assert shown["created_at"].endswith("Z")
    assert shown["updated_at"].endswith("Z")
    assert await sso.ok("GET", f"{PLACE}/{shown['id']}", None, ADMIN) == shown
    assert await sso.ok("GET", f"{PLACE}/resource_CRM", None, ADMIN) == shown
    await sso.ok("DELETE", f"{PLACE}/{shown['id']}", None, ADMIN)


async def test_the_list_leaves_the_long_metadata_out(sso: AuthPool):
    organization = await known(sso)

    shown = await sso.ok("GET", PLACE, None, ADMIN)

    (found,) = [each for each in shown["items"] if each["id"] == organization.id]
    assert found["saml"] == {"entity_id": organization.idp.entity_id}
    assert found["domains"] == []


@pytest.mark.parametrize("without", [True, False])
async def test_it_is_administered_with_saml_on_or_off(auth_pool: AuthPool, sso: AuthPool, without: bool):
    shown = await made(auth_pool if without else sso, body())

    assert shown["disabled"] is False


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "Only 'saml' supported"),
        ({"type": "oidc"}, "Only 'saml' supported"),
        ({"type": "saml"}, "Either metadata_xml or metadata_url"),
        (
            {"type": "saml", "metadata_xml": "<a/>", "metadata_url": "https://a.example"},
            "Only one of metadata_xml or",
        ),
        ({"type": "saml", "metadata_xml": "<a/>"}, "EntityDescriptor"),
        ({"type": "saml", "metadata_xml": "<!DOCTYPE a><a/>"}, "DOCTYPE"),
        (body(name_id_format="other"), "name_id_format must be"),
        (body(domains=["no domain"]), "names of hosts"),
        (body(domains=[""]), "names of hosts"),
        (body(domains=["a" * 64]), "names of hosts"),
        (body(domains=["a." * 127 + "aa"]), "names of hosts"),
        (body(domains=["a\0"]), "names of hosts"),
        (body(domains=[f"a{n}" for n in range(1001)]), "names of hosts"),
        (body(resource_id="a\0b"), "resource_id"),
        (body(resource_id="a" * 256), "resource_id"),
        (body(attribute_mapping={"keys": {"a\0": {"name": "x"}}}), "U+0000"),
        (body(attribute_mapping={"keys": {"a": {"name": "x", "default": {"b": ["\0"]}}}}), "U+0000"),
    ],
)
async def test_what_cannot_be_a_provider_is_refused(sso: AuthPool, given: object, told: str):
    status, code, message = await sso.refused("POST", PLACE, given, ADMIN)

    assert (status, code) == (400, "validation_failed")
    assert told in message


@pytest.mark.parametrize(
    "given",
    [b"[]", b"{", body(domains="a"), body(attribute_mapping=[]), body(attribute_mapping={"keys": {"a": 1}})],
)
async def test_a_body_of_another_shape_is_refused(sso: AuthPool, given: object):
    assert (await sso.refused("POST", PLACE, given, ADMIN))[:2] == (400, "bad_json")


async def test_names_are_taken_once(sso: AuthPool):
    idp, taken, resource = Idp(), domain(), uuid.uuid4().hex
    await made(sso, body(idp, domains=[taken], resource_id=resource))

    assert await sso.refused("POST", PLACE, body(idp), ADMIN) == (
        422, "saml_idp_already_exists", f"SAML Identity Provider with this EntityID ({idp.entity_id}) already exists",
    )  # fmt: skip
    assert await sso.refused("POST", PLACE, body(domains=[domain(), taken]), ADMIN) == (
        400, "sso_domain_already_exists", f"SSO Domain '{taken}' is already assigned to an SSO provider",
    )  # fmt: skip
    assert (await sso.refused("POST", PLACE, body(resource_id=resource.upper()), ADMIN))[:2] == (
        409,
        "conflict",
    )


async def test_a_provider_that_was_refused_leaves_nothing(sso: AuthPool):
    idp, taken = Idp(), domain()
    await made(sso, body(domains=[taken]))
    await sso.refused("POST", PLACE, body(idp, domains=[taken]), ADMIN)

    assert (await made(sso, body(idp)))["saml"]["entity_id"] == idp.entity_id


@pytest.mark.parametrize("id", [str(uuid.uuid4()), "x", "resource_x", "resource_", "%00"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_unknown_provider_is_not_found(sso: AuthPool, method: str, id: str):
    refusal = await sso.refused(method, f"{PLACE}/{id}", {}, ADMIN)

    assert refusal == MISSING or (id == "%00" and refusal[0] == 404)


async def test_what_is_given_replaces_and_the_rest_stays(sso: AuthPool):
    idp, first, second = Idp(), domain(), domain()
    mapping = {"keys": {"name": {"name": "cn"}}}
    before = await made(sso, body(idp, domains=[first], attribute_mapping=mapping, name_id_format=PERSISTENT))
    place = f"{PLACE}/{before['id']}"

    same = await sso.ok("PUT", place, {}, ADMIN)
    off = await sso.ok("PUT", place, {"type": "saml", "disabled": True, "resource_id": before["id"]}, ADMIN)
    moved = await sso.ok("PUT", place, {"domains": [second], "attribute_mapping": {"keys": {}}}, ADMIN)
    alone = await sso.ok(
        "PUT", f"{PLACE}/resource_{before['id']}", {"domains": [], "name_id_format": ""}, ADMIN
    )

    assert {**same, "updated_at": ""} == {**before, "updated_at": ""}
    assert (off["disabled"], off["resource_id"], off["saml"]) == (True, before["id"], before["saml"])
    assert [each["domain"] for each in moved["domains"]] == [second]
    kept = {name: each for name, each in before["saml"].items() if name != "attribute_mapping"}
    assert moved["saml"] == kept
    assert alone["domains"] == []
    assert "name_id_format" not in alone["saml"]
    assert alone["disabled"] is True


async def test_metadata_change_but_not_who_they_are_of(sso: AuthPool):
    idp = Idp()
    before = await made(sso, body(idp))
    place = f"{PLACE}/{before['id']}"
    idp.sso_url = "https://moved.example.org/sso"
    other = Idp()

    changed = await sso.ok("PUT", place, {"metadata_xml": idp.metadata()}, ADMIN)
    refusal = await sso.refused("PUT", place, {"metadata_xml": other.metadata()}, ADMIN)

    assert changed["saml"]["metadata_xml"] == idp.metadata()
    assert refusal == (
        400,
        "saml_entity_id_mismatch",
        "SAML Metadata can be updated only if the EntityID matches for the provider; "
        f"expected '{idp.entity_id}' but got '{other.entity_id}'",
    )


async def test_names_of_others_cannot_be_taken_over(sso: AuthPool):
    taken, resource = domain(), uuid.uuid4().hex
    await made(sso, body(domains=[taken], resource_id=resource))
    mine = await made(sso, body(domains=[domain()]))
    place = f"{PLACE}/{mine['id']}"

    assert (await sso.refused("PUT", place, {"domains": [taken]}, ADMIN))[:2] == (
        400,
        "sso_domain_already_exists",
    )
    assert (await sso.refused("PUT", place, {"resource_id": resource}, ADMIN))[:2] == (422, "conflict")
    assert await sso.ok("GET", place, None, ADMIN) == mine


async def test_another_type_is_refused(sso: AuthPool):
    mine = await made(sso, body())

    assert (await sso.refused("PUT", f"{PLACE}/{mine['id']}", {"type": "oidc"}, ADMIN))[:2] == (
        400, "validation_failed",
    )  # fmt: skip


async def test_a_deleted_provider_is_given_once_more(sso: AuthPool):
    idp = Idp()
    mine = await made(sso, body(idp, domains=[domain()]))

    gone = await sso.ok("DELETE", f"{PLACE}/{mine['id']}", None, ADMIN)

    assert gone == mine
    assert await sso.refused("GET", f"{PLACE}/{mine['id']}", None, ADMIN) == MISSING
    assert (await made(sso, body(idp, domains=[mine["domains"][0]["domain"]])))["id"] != mine["id"]


async def test_users_of_a_deleted_provider_stay_but_do_not_enter(sso: AuthPool):
    organization = await known(sso)
    signed = await organization.sign_in()
    tree = organization.idp.tree(organization.says())

    await sso.ok("DELETE", f"{PLACE}/{organization.id}", None, ADMIN)
    landing = await organization.arrive(tree)

    assert landing.refusal[0] == "saml_idp_not_found"
    assert (await sso.ok("GET", f"/admin/users/{signed.id}", None, ADMIN))["email"] == signed.email
