"""Section 5. Authentication."""

from typing import Any
from uuid import uuid4

import pytest

from tests.platforms.seed.callers import Caller, Person, SeedPlatform, asked

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/rest/v1/authors"),
        ("POST", "/graphql/v1"),
        ("POST", "/auth/v1/signup"),
        ("GET", "/auth/v1/user"),
        ("POST", "/auth/v1/otp"),
        ("GET", "/storage/v1/bucket"),
        ("POST", "/storage/v1/object/list/shelf"),
        ("POST", "/storage/v1/object/sign/shelf/z.txt"),
        ("POST", "/storage/v1/object/upload/sign/shelf/z.txt"),
        ("GET", "/storage/v1/render/image/authenticated/shelf/z.png"),
    ],
)
@pytest.mark.parametrize("key", [None, "nonsense"])
def test_a_missing_or_wrong_key_is_401(
    seed_platform: SeedPlatform, method: str, path: str, key: str | None
) -> None:
    body: Any = {} if method == "POST" else None

    answer = seed_platform.client.request(method, path, json=body, headers={"apikey": key} if key else {})

    assert answer.status_code == 401


def test_policies_read_id_email_role_and_claims_and_the_service_key_passes_them(
    seed_platform: SeedPlatform, ada: Person
) -> None:
    def kinds(caller: Caller) -> list[str]:
        return [row["kind"] for row in caller.result("GET", "/rest/v1/letters?select=kind&order=kind")]

    ada.caller.ask("POST", "/rest/v1/notes", {"body": "mine"})
    other = seed_platform.with_claims(sub=str(uuid4()), team="blue")

    assert kinds(ada.caller) == ["email", "role"]
    assert kinds(other) == ["claim", "role"]
    assert kinds(seed_platform.anon) == []
    assert kinds(seed_platform.service) == ["claim", "email", "role"]
    assert [row["body"] for row in ada.caller.result("GET", "/rest/v1/notes")] == ["mine"]
    assert other.result("GET", "/rest/v1/notes") == []
    query = "{ notesCollection { edges { node { body } } } }"
    assert asked(ada.caller, query)["notesCollection"]["edges"] == [{"node": {"body": "mine"}}]
    assert asked(other, query)["notesCollection"]["edges"] == []


def test_what_a_user_may_not_do_is_403(seed_platform: SeedPlatform, ada: Person) -> None:
    refused = ada.caller.ask("POST", "/rest/v1/notes", {"owner": str(uuid4()), "body": "another's"})

    assert (refused.status_code, refused.json()["code"]) == (403, "42501")
