"""Leaked passwords, looked up in a list on loopback that speaks as the public one does."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address
from tests.workers.auth.delivery.hooks.service import served
from workers.auth.accounts.passwords import leaked
from workers.auth.model.context import ServiceUrls

LEAKED, GOOD = "correct battery", "correct staple"
REFUSED = (
    422,
    "weak_password",
    "Password is known to be weak and easy to guess, please choose a different one.",
)
AWAY = (500, "unexpected_failure", "Unable to check whether the password is known to have leaked")


def digest(password: str) -> str:
    return hashlib.sha1(password.encode()).hexdigest().upper()


@dataclass
class Breaches:
    """A list that holds one password, and padding."""

    url: str = ""
    heard: list[web.Request] = field(default_factory=list)
    status: int = 200
    text: str | None = None
    hang: asyncio.Event | None = None

    async def range(self, request: web.Request) -> web.Response:
        self.heard.append(request)
        if self.hang is not None:
            await self.hang.wait()
        listed = [f"{digest(GOOD)[5:]}:0", "0" * 35 + ":0"]
        if request.path == f"/range/{digest(LEAKED)[:5]}":
            listed.append(f"{digest(LEAKED)[5:]}:1207")
        return web.Response(status=self.status, text=self.text or "\r\n".join(listed))


@pytest.fixture
async def breaches() -> AsyncIterator[Breaches]:
    one = Breaches()
    async with served(one.range, "/range/") as url:
        one.url = url
        yield one
        if one.hang is not None:
            one.hang.set()


def careful(auth_pool: AuthPool, breaches: Breaches, **changes: object) -> AuthPool:
    made = auth_pool.having(password__hibp__enabled=True, **changes)
    services = ServiceUrls(leaked_passwords=breaches.url)
    return AuthPool(replace(made.context, services=services), made.admin, made.clock)


async def test_a_leaked_password_is_refused_wherever_one_is_set(auth_pool: AuthPool, breaches: Breaches):
    mine = careful(auth_pool, breaches)
    signed = await mine.sign_up(password=GOOD)
    body = {"password": LEAKED}

    assert await mine.refused("POST", "/signup", {"email": address(), **body}) == REFUSED
    assert await mine.refused("PUT", "/user", body, signed.caller) == REFUSED
    assert await mine.refused("POST", "/admin/users", {"email": address(), **body}, ADMIN) == REFUSED
    assert await mine.refused("PUT", f"/admin/users/{signed.id}", body, ADMIN) == REFUSED
    await mine.sign_in(signed.email, GOOD)


async def test_the_reason_has_a_word(auth_pool: AuthPool, breaches: Breaches):
    response = await careful(auth_pool, breaches, minimum_password_length=50).send(
        "POST", "/signup", {"email": address(), "password": LEAKED}
    )

    assert json.loads(response.body)["weak_password"] == {"reasons": ["length", "pwned"]}


async def test_only_five_digits_of_the_hash_leave_the_house(auth_pool: AuthPool, breaches: Breaches):
    await careful(auth_pool, breaches).sign_up(password=GOOD)

    (request,) = breaches.heard
    assert (request.method, request.path, request.query_string) == ("GET", f"/range/{digest(GOOD)[:5]}", "")
    assert request.headers["add-padding"] == "true"
    assert request.headers["user-agent"] == "headwater"
    assert digest(GOOD)[5:] not in str(request.headers)


async def test_the_settings_may_name_us_otherwise(auth_pool: AuthPool, breaches: Breaches):
    await careful(auth_pool, breaches, password__hibp__user_agent="my-app").sign_up()

    assert breaches.heard[0].headers["user-agent"] == "my-app"


@pytest.mark.parametrize("how", ["busy", "garbled", "redirect", "long", "missing"])
async def test_a_list_that_is_away_keeps_nobody_out_unless_it_shall(
    auth_pool: AuthPool, breaches: Breaches, how: str
):
    match how:
        case "busy":
            breaches.status = 503
        case "garbled":
            breaches.text = "<html>sorry</html>"
        case "redirect":
            breaches.status = 302
        case "long":
            breaches.text = f"{'0' * 35}:1\r\n" * 60_000
        case "missing":
            breaches.url = "http://127.0.0.1:1/range/"
    body = {"email": address(), "password": LEAKED}

    strict = careful(auth_pool, breaches, password__hibp__fail_closed=True)
    assert await strict.refused("POST", "/signup", body) == AWAY
    await careful(auth_pool, breaches).ok("POST", "/signup", body)


async def test_a_slow_list_keeps_nobody_out(
    auth_pool: AuthPool, breaches: Breaches, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(leaked, "_TIMEOUT_S", 0.05)
    breaches.hang = asyncio.Event()

    await careful(auth_pool, breaches).sign_up(password=LEAKED)


async def test_a_sign_in_with_a_password_that_has_leaked_since_is_told_so(
    auth_pool: AuthPool, breaches: Breaches
):
    signed = await auth_pool.sign_up(password=LEAKED)

    again = await careful(auth_pool, breaches).sign_in(signed.email, LEAKED)

    assert again.body["weak_password"] == {"message": REFUSED[2], "reasons": ["pwned"]}


async def test_at_a_sign_in_a_list_that_is_away_does_not_matter(auth_pool: AuthPool, breaches: Breaches):
    signed = await auth_pool.sign_up()
    breaches.status = 500

    again = await careful(auth_pool, breaches, password__hibp__fail_closed=True).sign_in(signed.email)

    assert "weak_password" not in again.body


async def test_a_wrong_password_is_not_looked_up(auth_pool: AuthPool, breaches: Breaches):
    signed = await auth_pool.sign_up()

    await careful(auth_pool, breaches).refused(
        "POST", "/token?grant_type=password", {"email": signed.email, "password": LEAKED}
    )

    assert not breaches.heard


async def test_nothing_is_asked_when_it_is_off(auth_pool: AuthPool, breaches: Breaches):
    mine = careful(auth_pool, breaches).having(password__hibp__enabled=False)

    await mine.sign_up(password=PASSWORD)

    assert not breaches.heard
