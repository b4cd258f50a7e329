"""Who the database sees."""

import msgspec
import pytest

from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.http import Request
from workers.storage.model.errors import StorageError
from workers.storage.requests.identity import has_credential, identity_of, settings_for

ID = "a11ce000-0000-4000-8000-000000000001"


def test_keys_are_the_roles_of_the_platform() -> None:
    assert (identity_of(AnonymousCaller(), []).role, identity_of(ServiceCaller(), []).role) == (
        "anon",
        "service_role",
    )


@pytest.mark.parametrize(
    ("claims", "role", "owner", "subject"),
    [
        ({}, "anon", None, None),
        ({"role": "custom", "sub": ID}, "custom", ID, ID),
        ({"role": "", "sub": "me"}, "anon", None, "me"),
        ({"role": ["service_role"], "sub": 5}, "anon", None, None),
    ],
)
def test_token_tells_role_and_owner(
    claims: object, role: str, owner: str | None, subject: str | None
) -> None:
    found = identity_of(UserCaller(msgspec.json.encode(claims)), [("authorization", "bearer abc")])

    assert (found.role, found.owner, found.subject, found.token) == (role, owner, subject, "abc")
    assert msgspec.json.decode(found.claims)["role"] == role


def test_refused_token_is_nobody() -> None:
    with pytest.raises(StorageError):
        identity_of(RejectedCaller(TokenFault.CLAIMS, "JWT expired"), [])


def test_empty_authorization_is_none() -> None:
    assert has_credential([("authorization", "Bearer x")])
    assert not has_credential([("authorization", " ")])
    assert not has_credential([])


def test_settings_hold_all_that_policies_ask_for() -> None:
    request = Request(
        "id-1", "GET", "/object/b/k", headers=[("x-a", "1"), ("x-a", "2"), ("cookie", "secret")]
    )
    who = identity_of(
        UserCaller(msgspec.json.encode({"sub": ID, "role": "authenticated"})), [("authorization", "Bearer t")]
    )

    settings = dict(settings_for(who, request, "storage.object.list"))

    assert msgspec.json.decode(settings.pop("request.headers")) == {"x-a": "1, 2", "x-request-id": "id-1"}
    assert msgspec.json.decode(settings.pop("request.jwt.claims")) == {"sub": ID, "role": "authenticated"}
    assert settings == {
        "search_path": "storage, public, extensions",
        "role": "authenticated",
        "request.jwt.claim.role": "authenticated",
        "request.jwt": "t",
        "request.jwt.claim.sub": ID,
        "request.method": "GET",
        "request.path": "/object/b/k",
        "storage.operation": "storage.object.list",
        "storage.allow_delete_query": "true",
        "statement_timeout": "30s",
        "lock_timeout": "5s",
    }
