"""Section 7. Errors."""

import time
from typing import Any
from uuid import uuid4

import pytest

from tests.platforms.seed.callers import Caller, SeedPlatform

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/rest/v1/books?title=nonsense", None, {}, 400, "RESTERR100"),
        ("GET", "/rest/v1/books?price=eq.x", None, {}, 400, "22P02"),
        ("GET", "/rest/v1/nowhere", None, {}, 404, "RESTERR205"),
        ("POST", "/rest/v1/rpc/nowhere", {}, {}, 404, "RESTERR202"),
        ("GET", "/rest/v1/books", None, {"accept": "image/x-nonsense"}, 406, "RESTERR107"),
        ("POST", "/rest/v1/authors", {"name": "Ada"}, {}, 409, "23505"),
        ("GET", "/rest/v1/books", None, {"range": "900-901", "prefer": "count=exact"}, 416, "RESTERR103"),
        ("POST", "/rest/v1/books", [1, 2], {}, 400, None),
    ],
)
def test_an_error_has_its_status_and_four_fields(
    anon: Caller, method: str, path: str, body: Any, headers: dict[str, str], status: int, code: str | None
) -> None:
    answer = anon.ask(method, path, body, **headers)
    error = answer.json()

    assert answer.status_code == status
    assert set(error) == {"code", "message", "details", "hint"}
    assert isinstance(error["message"], str)
    assert all(error[name] is None or isinstance(error[name], str) for name in ("details", "hint"))
    assert error["code"] == code or (code is None and error["code"])


@pytest.mark.parametrize(
    "path",
    ["/rest/v1/authors", "/graphql/v1", "/auth/v1/user", "/storage/v1/object/authenticated/shelf/z.txt"],
)
def test_an_expired_token_is_answered_with_words_that_say_so(seed_platform: SeedPlatform, path: str) -> None:
    expired = seed_platform.with_claims(sub=str(uuid4()), exp=int(time.time()) - 3600)
    method, body = ("POST", {"query": "{ __typename }"}) if path == "/graphql/v1" else ("GET", None)

    answer = expired.ask(method, path, body)

    assert answer.is_error
    assert "jwt expired" in answer.text.lower()
