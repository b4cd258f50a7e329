"""What many tries bring out or break: who has an account, a password or a code, and whether its owner still comes in."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from tests.attacks.client import Received, send
from tests.conformance.auth_post import email_to
from tests.platform import Platform, platform

PASSWORD = "over the river and far"
SETTINGS = {
    "HEADWATER_GATEWAY_TRUSTED_PROXIES": "127.0.0.1",
    "HEADWATER_AUTH_EMAIL_ENABLE_CONFIRMATIONS": "true",
    "HEADWATER_AUTH_EMAIL_MAX_FREQUENCY": "60s",
    "HEADWATER_AUTH_RATE_LIMIT_EMAIL_SENT": "1000",
}
HOME, EVIL = "198.51.100.7", "203.0.113.{}"


@pytest.fixture(scope="module")
def counting() -> Iterator[Platform]:
    """A platform behind a proxy, so that one machine can come from many networks; addresses are confirmed."""
    with platform(environment=SETTINGS) as running:
        yield running


def auth(target: Platform, path: str, body: object, client: str = HOME) -> Received:
    return send(target, "POST", f"/auth/v1{path}", body, {"x-forwarded-for": client})


def owner(target: Platform, *, signs_in: bool = True) -> str:
    """Make an account by its admin, sign in from home, and return its address."""
    email = f"owner-{uuid.uuid4().hex}@example.com"
    key = {"authorization": f"Bearer {target.values['SERVICE_ROLE_KEY']}"}
    body = {"email": email, "password": PASSWORD, "email_confirm": True}
    assert send(target, "POST", "/auth/v1/admin/users", body, key, key="SERVICE_ROLE_KEY").status == 200
    if signs_in:
        assert signed_in(target, email, PASSWORD).status == 200
    return email


def signed_in(target: Platform, email: str, password: str, client: str = HOME) -> Received:
    return auth(target, "/token?grant_type=password", {"email": email, "password": password}, client)


def test_wrong_passwords_elsewhere_lock_nobody_out(counting: Platform) -> None:
    email = owner(counting, signs_in=False)
    answers = [signed_in(counting, email, f"guess {n}", EVIL.format(1)).status for n in range(12)]

    assert (answers[:10], answers[10:]) == ([400] * 10, [429] * 2)
    assert (
        signed_in(counting, email, PASSWORD, "192.0.2.99").status == 200
    )  # a network that nobody has seen before


def test_many_networks_together_are_bounded_and_lock_the_owner_out_of_no_known_place(
    counting: Platform,
) -> None:
    email = owner(counting)
    answers = [signed_in(counting, email, f"guess {n}", EVIL.format(n % 50)).status for n in range(104)]

    assert answers[:100] == [400] * 100
    assert 429 in answers[100:]
    assert signed_in(counting, email, PASSWORD).status == 200


def test_wrong_codes_elsewhere_kill_no_code_of_a_known_place(counting: Platform) -> None:
    email = owner(counting)
    assert auth(counting, "/otp", {"email": email}).status == 200
    code = asyncio.run(email_to(counting, email)).code
    wrong = f"{(int(code) + 1) % 10**6:06d}"

    answers = [
        auth(counting, "/verify", {"type": "email", "email": email, "token": wrong}, EVIL.format(n)).status
        for n in range(34)
    ]

    assert (set(answers[:30]), set(answers[30:])) == ({403}, {429})
    right = {"type": "email", "email": email, "token": code}
    assert auth(counting, "/verify", right, "192.0.2.98").status == 429  # bounded everywhere else
    assert auth(counting, "/verify", right).status == 200


@pytest.mark.parametrize(
    "sequence",
    [
        ("recover", "recover"),
        ("otp", "otp"),
        ("magiclink", "magiclink"),
        ("recover", "otp", "recover"),
        ("recover", "magiclink"),
        ("otp", "recover", "otp"),
        ("signup", "signup"),
        ("signup", "resend", "otp"),
        ("recover", "signup", "resend"),
        ("resend", "resend", "recover"),
    ],
    ids="-".join,
)
def test_no_answer_tells_known_from_unknown_addresses(counting: Platform, sequence: tuple[str, ...]) -> None:
    known, unknown = owner(counting, signs_in=False), f"nobody-{uuid.uuid4().hex}@example.com"

    def seen(email: str) -> list[tuple[int, str]]:
        answers = []
        for way in sequence:
            more = {"signup": {"password": PASSWORD}, "resend": {"type": "signup"}}.get(way, {})
            answer = auth(counting, f"/{way}", {"email": email, **more}, f"192.0.2.{uuid.uuid4().int % 250}")
            answers.append((answer.status, answer.json.get("error_code", "")))
        return answers

    assert seen(known) == seen(unknown)
    assert any(status == 429 for status, _ in seen(known))
