"""Captchas, checked by services on loopback that speak as hCaptcha and Turnstile do."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from schemas.keys.secret import Secret
from schemas.settings.types import Duration
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ADMIN, ANYBODY, PASSWORD, AuthPool, address
from tests.workers.auth.delivery.hooks.service import served
from workers.auth.model.context import ServiceUrls

GRANT = "/token?grant_type=password"
TOKEN = {"gotrue_meta_security": {"captcha_token": "riddle"}}


@dataclass
class Riddles:
    """A service that knows one right answer, and what it was asked."""

    url: str = ""
    heard: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    answer: Any = None
    status: int = 200
    hang: asyncio.Event | None = None

    async def verify(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.heard.append((request.path, form))
        if self.hang is not None:
            await self.hang.wait()
        if isinstance(self.answer, bytes):
            return web.Response(status=self.status, body=self.answer)
        wrong = {"success": False, "error-codes": ["invalid-input-response", "Not A Word <b>"]}
        right = {"success": True, "hostname": "localhost"}
        usual = right if form["response"] == "riddle" else wrong
        return web.json_response(self.answer if self.answer is not None else usual, status=self.status)


@pytest.fixture
async def riddles() -> AsyncIterator[Riddles]:
    one = Riddles()
    async with served(one.verify, "") as url:
        one.url = url
        yield one
        if one.hang is not None:
            one.hang.set()


def guarded(auth_pool: AuthPool, riddles: Riddles, provider: str = "hcaptcha", **changes: object) -> AuthPool:
    made = auth_pool.having(
        captcha__enabled=True, captcha__provider=provider, captcha__secret=Secret("geheim"), **changes
    )
    services = ServiceUrls(hcaptcha=f"{riddles.url}/h", turnstile=f"{riddles.url}/t")
    return AuthPool(replace(made.context, services=services), made.admin, made.clock)


@pytest.mark.parametrize(("provider", "path"), [("hcaptcha", "/h"), ("turnstile", "/t")])
async def test_a_riddle_that_was_solved_lets_in(
    auth_pool: AuthPool, riddles: Riddles, provider: str, path: str
):
    signed = await auth_pool.sign_up()
    mine = guarded(auth_pool, riddles, provider)

    await mine.ok("POST", GRANT, {"email": signed.email, "password": PASSWORD, **TOKEN})

    asked = {"secret": "geheim", "response": "riddle", "remoteip": "192.0.2.7"}
    assert riddles.heard == [(path, asked)]


async def test_a_wrong_answer_is_refused_with_the_words_of_the_service(auth_pool: AuthPool, riddles: Riddles):
    mine = guarded(auth_pool, riddles)
    body = {"email": address(), "password": PASSWORD, "gotrue_meta_security": {"captcha_token": "guess"}}

    answer = await mine.refused("POST", GRANT, body)

    assert answer == (
        400,
        "captcha_failed",
        "captcha protection: request disallowed (invalid-input-response)",
    )


@pytest.mark.parametrize(
    "more",
    [
        {}, {"gotrue_meta_security": None}, {"gotrue_meta_security": {}}, {"gotrue_meta_security": {"captcha_token": ""}},
        {"gotrue_meta_security": {"captcha_token": None}}, {"gotrue_meta_security": {"captcha_token": " \t"}},
        {"captcha_token": "riddle"}, {"gotrue_meta_security": {"captcha_token": "x" * 20_000}},
    ],
)  # fmt: skip
async def test_no_answer_is_refused_without_a_question(
    auth_pool: AuthPool, riddles: Riddles, more: dict[str, object]
):
    mine = guarded(auth_pool, riddles)

    answer = await mine.refused("POST", GRANT, {"email": address(), "password": PASSWORD, **more})

    assert answer[:2] == (400, "captcha_failed")
    assert answer[2].startswith("captcha protection: request disallowed (")
    assert not riddles.heard


@pytest.mark.parametrize(
    "given", [{"gotrue_meta_security": 1}, {"gotrue_meta_security": {"captcha_token": ["x"]}}]
)
async def test_another_shape_is_no_json_of_ours(
    auth_pool: AuthPool, riddles: Riddles, given: dict[str, object]
):
    answer = await guarded(auth_pool, riddles).refused(
        "POST", GRANT, {"email": address(), "password": "x", **given}
    )

    assert answer[:2] == (400, "bad_json")


async def test_a_password_of_a_user_is_not_looked_at_without_one_even_if_signed_in(
    auth_pool: AuthPool, riddles: Riddles
):
    mine = guarded(auth_pool, riddles)
    signed = await auth_pool.sign_up()

    for caller in (ANYBODY, signed.caller):
        body = {"email": signed.email, "password": PASSWORD}
        assert (await mine.refused("POST", GRANT, body, caller))[1] == "captcha_failed"

    assert mine.hashing.verified == 0


async def test_admins_and_refreshes_need_none_nor_anybody_when_it_is_off(
    auth_pool: AuthPool, riddles: Riddles
):
    signed = await auth_pool.sign_up()
    mine, body = guarded(auth_pool, riddles), {"email": signed.email, "password": PASSWORD}

    await mine.ok("POST", GRANT, body, ADMIN)
    await mine.refresh(signed.refresh_token)
    await mine.having(captcha__enabled=False).ok("POST", GRANT, {**body, "gotrue_meta_security": {}})

    assert not riddles.heard


FAILED = (500, "unexpected_failure", "captcha verification process failed")
NOT_PASSED = (400, "captcha_failed", "captcha protection: request disallowed (not passed)")


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (200, b"", FAILED),
        (200, b"yes", FAILED),
        (200, b"[true]", FAILED),
        (200, b'{"success": "true"}', FAILED),
        (500, b"<html>", FAILED),
        (302, b"", FAILED),
        (200, b'{"success": true' + b" " * 100_000 + b"}", FAILED),
        (200, b"\xff", FAILED),
        (200, b'{"a":' * 9000, FAILED),
        (200, {}, NOT_PASSED),
        (200, {"success": False}, NOT_PASSED),
        (200, {"success": False, "error-codes": ["<b>", "é"]}, NOT_PASSED),
    ],
)
async def test_an_answer_that_cannot_be_read_or_says_no_lets_nobody_in(
    auth_pool: AuthPool, riddles: Riddles, status: int, answer: bytes, expected: tuple[int, str, str]
):
    riddles.status, riddles.answer = status, answer
    body = {"email": address(), "password": PASSWORD, **TOKEN}

    assert await guarded(auth_pool, riddles).refused("POST", GRANT, body) == expected


async def test_a_slow_or_missing_service_lets_nobody_in(auth_pool: AuthPool, riddles: Riddles):
    body = {"email": address(), "password": PASSWORD, **TOKEN}
    riddles.hang = asyncio.Event()
    slow = await guarded(auth_pool, riddles, captcha__timeout=Duration(0.05)).refused("POST", GRANT, body)
    riddles.url = "http://127.0.0.1:1"
    missing = await guarded(auth_pool, riddles).refused("POST", GRANT, body)

    assert slow == missing == FAILED


def test_the_services_live_where_they_live():
    assert ServiceUrls() == ServiceUrls(
        "https://hcaptcha.com/siteverify",
        "https://challenges.cloudflare.com/turnstile/v0/siteverify",
        "https://api.pwnedpasswords.com/range/",
    )


SOMEBODY = ""  # each test has an address of its own
GUARDED = [
    ("/signup", {"email": SOMEBODY, "password": PASSWORD}),
    ("/signup", {}),
    ("/otp", {"email": SOMEBODY}),
    ("/magiclink", {"email": SOMEBODY}),
    ("/recover", {"email": SOMEBODY}),
    ("/resend", {"type": "signup", "email": SOMEBODY}),
    ("/sso", {"domain": "example.org"}),
    ("/passkeys/authentication/options", {}),
    ("/token?grant_type=web3", {"chain": "solana", "message": "x", "signature": "x"}),
]


@pytest.mark.parametrize(("path", "body"), GUARDED, ids=[f"{n}{path}" for n, (path, _) in enumerate(GUARDED)])
async def test_every_way_that_the_reference_lists_is_guarded(
    auth_pool: AuthPool, riddles: Riddles, path: str, body: dict[str, object]
):
    mine = guarded(
        auth_pool,
        riddles,
        passkey__enabled=True,
        webauthn__rp_id="example.org",
        saml__enabled=True,
        saml__private_key=Secret(RSA_KEY),
        external_url="https://example.org/auth/v1",
        web3__solana__enabled=True,
    )
    if "email" in body:
        body = {**body, "email": address()}
    wrong = {**body, "gotrue_meta_security": {"captcha_token": "guess"}}

    without, guessed = await mine.refused("POST", path, body), await mine.refused("POST", path, wrong)
    await mine.send("POST", path, {**body, **TOKEN})

    assert without == (
        400,
        "captcha_failed",
        "captcha protection: request disallowed (no captcha_token found in request)",
    )
    assert guessed[:2] == (400, "captcha_failed")
    assert [form["response"] for _, form in riddles.heard] == ["guess", "riddle"]
