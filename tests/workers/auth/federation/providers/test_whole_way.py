"""The whole way of a browser, for every provider: /authorize, the provider, /callback, a session."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from schemas.http import Response
from tests.workers.auth.auth_pool import told
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CODE, TokenEndpoint
from tests.workers.auth.federation.providers.test_registry import NAMES, install, parted, recorded

EXTERNAL = "http://127.0.0.1:8000/auth/v1"


async def leave(there: Abroad, name: str, extra: dict[str, str]) -> dict[str, str]:
    """Send a browser away, and give what it takes along."""
    renamed = {f"workos_{key}" if key == "provider" else key: value for key, value in extra.items()}
    query = urlencode({"provider": name, **renamed})
    response = await there.auth_pool.send("GET", f"/authorize?{query}")
    assert response.status == 302, response
    return parted(told(response, "location"))[1]


async def come_back(there: Abroad, record: dict[str, Any], fields: dict[str, str]) -> Response:
    """Bring a browser back: by address, or by form where the provider wants it."""
    whole = urlencode({**fields, **record.get("callback", {})})
    if record["authorize"]["query"].get("response_mode") != "form_post":
        return await there.auth_pool.send("GET", f"/callback?{whole}")
    form = {"content_type": "application/x-www-form-urlencoded"}
    return await there.auth_pool.send("POST", "/callback", whole.encode(), **form)


@pytest.mark.parametrize("name", NAMES)
async def test_a_browser_goes_all_the_way(abroad: Abroad, name: str):
    record = recorded(name)
    there = abroad.having(external_url=EXTERNAL).with_provider(
        name, url=record.get("url", ""), email_optional=True
    )
    install(there.network, record)

    taken = await leave(there, name, record.get("extra", {}))
    posted = ("POST", record["token"]["url"])
    known: TokenEndpoint = there.network.answers[posted]
    there.network.answers[posted] = TokenEndpoint(
        known.answer, known.login, taken.get("code_challenge", ""), callback=f"{EXTERNAL}/callback"
    )
    response = await come_back(there, record, {"code": CODE, "state": taken["state"]})

    assert response.status == 302
    fragment = dict(parse_qsl(urlsplit(told(response, "location")).fragment))
    assert fragment["provider_token"] == "access-1"
    user = await there.auth_pool.ok(
        "GET", "/user", caller=there.auth_pool.signed({**fragment, "user": {}}).caller
    )
    mine = next(each for each in user["identities"] if each["provider"] == name)
    assert mine["id"] == record["person"]["subject"]
    claims = record["person"]["claims"]
    assert {key: mine["identity_data"].get(key) for key in claims} == claims
    assert taken["redirect_uri"] == f"{EXTERNAL}/callback"
    assert bool(taken.get("code_challenge")) == bool(record["token"].get("pkce"))
