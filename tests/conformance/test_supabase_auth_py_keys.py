"""The official Python client, in both of its forms: tokens that it verifies by itself, and sessions that it keeps alive."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest
from supabase_auth.errors import AuthInvalidJwtError

from tests.conformance.auth_callers import People, claims_of, done
from tests.conformance.confirming import SIGNING_KEY

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

AT_ONCE = 50


async def test_the_client_verifies_a_token_by_the_public_key(new_users: People) -> None:
    one = await new_users.member()
    head, body, signature = one.session.access_token.split(".")
    forged = ".".join((head, body, signature[:-8] + "AAAAAAAA"))
    auth = await new_users.auth()

    told = await done(auth.get_claims(one.session.access_token))
    with pytest.raises(AuthInvalidJwtError, match="Invalid JWT signature"):
        await done(auth.get_claims(forged))

    assert told["headers"] == {"alg": "ES256", "kid": SIGNING_KEY, "typ": "JWT"}
    assert told["claims"]["sub"] == one.user.id


async def test_the_data_interface_takes_the_new_kind_of_token(new_users: People) -> None:
    one = await new_users.member()

    me = await one.caller.rows(one.caller.rpc("whoami"))

    assert (me["uid"], me["role"]) == (one.user.id, "authenticated")


async def test_many_refreshes_at_once_leave_one_session(new_users: People) -> None:
    one = await new_users.member()
    clients = [await new_users.auth() for _ in range(AT_ONCE)]
    token = one.session.refresh_token

    answers = await refreshed_at_once(new_users.kind, clients, token)

    assert len({each.session.refresh_token for each in answers}) == 1
    assert {claims_of(each.session.access_token)["session_id"] for each in answers} == {
        claims_of(one.session.access_token)["session_id"]
    }
    assert (await done(clients[-1].refresh_session())).user.id == one.user.id


async def refreshed_at_once(kind: str, clients: list[Any], token: str) -> list[Any]:
    if kind == "async":
        return await asyncio.gather(*(auth.refresh_session(token) for auth in clients))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(lambda auth: auth.refresh_session(token), clients))


async def test_the_client_refreshes_before_the_token_expires(new_users: People) -> None:
    one = await new_users.member()
    auth = await new_users.auth(auto_refresh_token=True)
    renewed, secret = threading.Event(), new_users.platform.values["JWT_SECRET"]
    auth.on_auth_state_change(lambda event, session: renewed.set() if event == "TOKEN_REFRESHED" else None)
    brief = jwt.encode(
        {**claims_of(one.session.access_token), "exp": int(time.time()) + 2}, secret, algorithm="HS256"
    )

    await done(auth.set_session(brief, one.session.refresh_token))

    deadline = time.monotonic() + 60
    while not renewed.is_set():
        assert time.monotonic() < deadline, "the token was not renewed"
        await asyncio.sleep(0.05)
    kept = await done(auth.get_session())
    assert kept.refresh_token != one.session.refresh_token
    await done(auth.sign_out())
