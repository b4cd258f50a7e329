"""What the service answers, section by section of docs/reference/auth.md, on a running platform with default settings.

The rows are data (tests/data/auth/reference_answers.json): who calls, the request, and of the answer its status, error code,
members, a part of the message and parts of headers. `{new}` is an address that nobody has, `{email}` and `{id}` are the caller's.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.client import Received, send
from tests.platform import Platform, platform

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "auth" / "reference_answers.json").read_text()
)
PASSWORD = "correct horse"

pytestmark = pytest.mark.process_group("clients")


@dataclass(frozen=True)
class Users:
    """Two users of a platform and an anonymous one, as the answers to their sign-ups have them."""

    platform: Platform
    signed: dict[str, Any]
    other: dict[str, Any]
    anonymous: dict[str, Any]

    def filled(self, text: str) -> str:
        """Put values into the places of a row."""
        values = {
            "new": new_address(),
            "email": self.signed["user"]["email"],
            "id": self.signed["user"]["id"],
            "other": self.other["user"]["email"],
            "refresh": self.signed["refresh_token"],
        }
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def headers(self, who: str) -> Mapping[str, str]:
        """Give the headers of a caller beside the API key."""
        secret = self.platform.values["SERVICE_ROLE_KEY"]
        bearers = {
            "user": self.signed["access_token"],
            "anonymous": self.anonymous["access_token"],
            "admin": secret,
            "bad token": "a.b.c",
        }
        name, _, more = who.partition(", ")
        sent = {"authorization": f"Bearer {bearers[name]}"} if name in bearers else {}
        extra = {
            "2024": {"x-supabase-api-version": "2024-01-01"},
            "other audience": {"x-jwt-aud": "elsewhere"},
        }
        return {**sent, **extra.get(more, {}), **({"apikey": ""} if who == "no key" else {})}


def new_address() -> str:
    return f"{uuid.uuid4().hex}@example.org"


def sign_up(platform: Platform, body: object) -> dict[str, Any]:
    answer = send(platform, "POST", "/auth/v1/signup", body)
    assert answer.status == 200, answer
    signed: dict[str, Any] = answer.json
    return signed


@pytest.fixture(scope="session")
def users() -> Iterator[Users]:
    """Users of a platform on which a client may sign in anonymously."""
    with platform(environment={"GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED": "true"}) as one:
        bodies = [{"email": new_address(), "password": PASSWORD} for _ in range(2)]
        yield Users(one, *(sign_up(one, body) for body in (*bodies, {})))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['section']} {row['who']}: {row['call']}")
def test_the_service_answers_as_the_reference_says(users: Users, row: dict[str, Any]) -> None:
    method, _, path = users.filled(row["call"]).partition(" ")
    body = json.loads(users.filled(json.dumps(row["body"]))) if "body" in row else None
    sent = body.encode() if isinstance(body, str) else body

    key = "SERVICE_ROLE_KEY" if row["who"] == "admin" else "ANON_KEY"
    answer = send(users.platform, method, f"/auth/v1{path}", sent, users.headers(row["who"]), key=key)

    assert answer.status == row["status"], answer
    for name, part in row.get("headers", {}).items():
        assert part in answer.headers[name], answer
    if "error_code" in row:
        assert code_of(answer) == row["error_code"], answer
    if "members" in row:
        assert set(row["members"]) <= set(answer.json), answer
    assert row.get("message", "") in (answer.body.decode() or ""), answer


def code_of(answer: Received) -> object:
    """Give the error code, which the API version has in one of two members."""
    body = answer.json
    return body.get("error_code", body["code"])
