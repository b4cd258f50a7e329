"""What the service tells of itself to those who provision users."""

import json

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, told

CORE = "urn:ietf:params:scim:schemas:core:2.0:"
PLACES = ("ServiceProviderConfig", "ResourceTypes", "ResourceTypes/User", "Schemas", f"Schemas/{CORE}User")


@pytest.fixture
def scim(auth_pool: AuthPool) -> AuthPool:
    return auth_pool.having(scim__enabled=True)


@pytest.mark.parametrize("place", PLACES)
async def test_it_is_off_unless_it_is_wanted(auth_pool: AuthPool, place: str):
    assert await auth_pool.refused("GET", f"/scim/v2/{place}") == (
        404,
        "feature_disabled",
        "SCIM is disabled",
    )


@pytest.mark.parametrize("place", PLACES)
async def test_it_speaks_scim_and_says_where_it_stands(scim: AuthPool, place: str):
    response = await scim.send("GET", f"/scim/v2/{place}", None, ADMIN)

    assert response.status == 200
    assert told(response, "content-type") == "application/scim+json"
    shown = json.loads(response.body)
    found = shown.get("Resources", [shown])
    for each in found:
        assert each["meta"]["location"].startswith(f"{scim.context.settings.external_url}/scim/v2/")


async def test_no_part_is_promised_that_is_not_there(scim: AuthPool):
    shown = await scim.ok("GET", "/scim/v2/ServiceProviderConfig", None, ADMIN)

    assert shown["schemas"] == [f"{CORE}ServiceProviderConfig"]
    parts = ("patch", "bulk", "filter", "changePassword", "sort", "etag")
    assert {shown[part]["supported"] for part in parts} == {False}


@pytest.mark.parametrize("place", ["ResourceTypes", "Schemas"])
async def test_lists_hold_what_is_found_alone(scim: AuthPool, place: str):
    shown = await scim.ok("GET", f"/scim/v2/{place}", None, ADMIN)

    assert shown["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:ListResponse"]
    assert shown["totalResults"] == len(shown["Resources"]) == 1
    (one,) = shown["Resources"]
    assert await scim.ok("GET", f"/scim/v2/{place}/{one['id']}", None, ADMIN) == one


async def test_kinds_name_schemas_that_are_there(scim: AuthPool):
    kinds = await scim.ok("GET", "/scim/v2/ResourceTypes", None, ADMIN)
    schemas = await scim.ok("GET", "/scim/v2/Schemas", None, ADMIN)

    assert {each["schema"] for each in kinds["Resources"]} == {each["id"] for each in schemas["Resources"]}


@pytest.mark.parametrize("place", ["ResourceTypes/Group", "Schemas/x"])
async def test_what_is_not_there_is_not_found(scim: AuthPool, place: str):
    assert (await scim.refused("GET", f"/scim/v2/{place}", None, ADMIN))[0] == 404


@pytest.mark.parametrize("place", PLACES)
async def test_filters_are_refused(scim: AuthPool, place: str):
    assert (await scim.refused("GET", f"/scim/v2/{place}?filter=x", None, ADMIN))[0] == 403
