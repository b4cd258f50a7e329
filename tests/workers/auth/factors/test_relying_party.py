"""Who we are to authenticators, by the settings, and whose pages are ours."""

import json

import msgspec
import pytest

from schemas.settings.auth import Auth
from schemas.settings.tree import Settings
from workers.auth.factors.relying_party import relying_party
from workers.credentials.relying_party import RelyingParty, reject_foreign_page
from workers.credentials.webauthn_credentials import Unverified

PARTY = RelyingParty("example.com", "Example", ("https://app.example.com", "https://example.com"))


def settings(site_url: str, **webauthn: object) -> Auth:
    own = Settings().auth
    return msgspec.structs.replace(
        own, site_url=site_url, webauthn=msgspec.structs.replace(own.webauthn, **webauthn)
    )


def test_the_settings_name_the_party():
    own = settings(
        "https://site.test",
        rp_id="example.com",
        rp_display_name="Example",
        rp_origins=["https://app.example.com/"],
    )

    assert relying_party(own) == RelyingParty("example.com", "Example", ("https://app.example.com",))


@pytest.mark.parametrize(
    ("site", "id", "origin"),
    [
        ("https://App.example.com/start?x=1", "app.example.com", "https://app.example.com"),
        ("http://localhost:3000", "localhost", "http://localhost:3000"),
    ],
)
def test_where_the_settings_are_silent_the_site_is_the_party(site: str, id: str, origin: str):
    assert relying_party(settings(site)) == RelyingParty(id, id, (origin,))


@pytest.mark.parametrize("origin", PARTY.origins)
def test_pages_of_the_origins_are_ours(origin: str):
    reject_foreign_page(PARTY, json.dumps({"origin": origin, "crossOrigin": False, "more": 1}).encode())


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"origin": "https://evil.example"}, "origin"),
        ({"origin": "https://app.example.com.evil.example"}, "origin"),
        ({"origin": "http://app.example.com"}, "origin"),
        ({"origin": "https://app.example.com:8443"}, "origin"),
        ({"origin": "https://example.com", "crossOrigin": True}, "framed"),
        ({"crossOrigin": False}, "malformed"),
        ({"origin": 1}, "malformed"),
        ([], "malformed"),
    ],
)
def test_other_pages_are_not(told: object, reason: str):
    with pytest.raises(Unverified, match=reason):
        reject_foreign_page(PARTY, json.dumps(told).encode())


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_no_page(data: bytes):
    with pytest.raises(Unverified, match="malformed"):
        reject_foreign_page(PARTY, data)
