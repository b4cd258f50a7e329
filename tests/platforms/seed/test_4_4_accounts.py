"""Section 4.4 Accounts."""

import re
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import pytest

from tests.caught_emails import emails_to
from tests.platforms.seed.callers import (
    ASKED_FIRST,
    FIXED_SCOPES,
    MILLISECONDS,
    PHONES,
    PROVIDERS,
    SITE,
    Caller,
    SeedPlatform,
    signed_up,
)

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_a_password_has_six_characters_at_least(anon: Caller) -> None:
    answer = anon.ask("POST", "/auth/v1/signup", {"email": "short@example.com", "password": "12345"})

    assert answer.status_code in (400, 422)
    assert "6 characters" in answer.text


def test_a_session_is_had_by_password_and_by_refresh_token_and_ends_with_logout(
    seed_platform: SeedPlatform,
) -> None:
    person = signed_up(seed_platform)
    credentials = {"email": person.email, "password": person.password}

    session = seed_platform.anon.result("POST", "/auth/v1/token?grant_type=password", credentials)
    again = seed_platform.anon.result(
        "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]}
    )
    caller = seed_platform.bearer(again["access_token"])
    ended = caller.ask("POST", "/auth/v1/logout")

    for one in (session, again):
        assert {"access_token", "token_type", "expires_in", "refresh_token", "user"} <= one.keys()
        assert one["user"]["id"] == person.session["user"]["id"]
    assert (ended.status_code, ended.content) == (204, b"")
    refreshed = seed_platform.anon.ask(
        "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": again["refresh_token"]}
    )
    assert refreshed.status_code in (400, 401)
    assert caller.ask("GET", "/auth/v1/user").status_code in (401, 403)


@pytest.mark.parametrize("provider", [each for each in PROVIDERS if each not in ASKED_FIRST])
def test_authorize_leads_to_the_provider(seed_platform: SeedPlatform, provider: str) -> None:
    query = {"provider": provider, "redirect_to": f"{SITE}/back", "scopes": "one two"}

    answer = seed_platform.client.get("/auth/v1/authorize", params=query)

    assert answer.status_code in (302, 303, 307)
    there = urlsplit(answer.headers["location"])
    asked_for = parse_qs(there.query)
    assert there.scheme == "https"
    assert asked_for["client_id"] == [f"client of {provider}"]
    wanted = set() if provider in FIXED_SCOPES else {"one", "two"}
    assert wanted <= set(re.split("[ ,]", asked_for["scope"][0]))


def test_magiclink_sends_an_email_that_leads_back(seed_platform: SeedPlatform) -> None:
    email = f"{uuid4()}@example.com"

    answer = seed_platform.anon.ask(
        "POST", "/auth/v1/magiclink", {"email": email, "options": {"redirectTo": f"{SITE}/inside"}}
    )

    assert answer.status_code == 200
    catcher = f"{seed_platform.platform.values['MAILPIT_URL']}/api/v1"
    found = emails_to(seed_platform.platform.values["MAILPIT_URL"], email)
    message = httpx.get(f"{catcher}/message/{found[0]['ID']}").json()
    link = next(each for each in re.findall(r"https?://[^\s\"<>)]+", message["Text"]) if "/verify" in each)
    followed = httpx.get(link)
    assert followed.headers["location"].startswith(f"{SITE}/inside#access_token=")


def test_a_code_by_phone_gives_a_session(seed_platform: SeedPlatform) -> None:
    phone, code = next(iter(PHONES.items()))

    sent = seed_platform.anon.ask("POST", "/auth/v1/otp", {"phone": f"+{phone}"})
    wrong = seed_platform.anon.ask(
        "POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": "000000", "type": "sms"}
    )
    session = seed_platform.anon.result(
        "POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": code, "type": "sms"}
    )

    assert (sent.status_code, wrong.is_success) == (200, False)
    me = seed_platform.bearer(session["access_token"]).result("GET", "/auth/v1/user")
    assert me["phone"] == phone
    assert seed_platform.anon.ask("POST", "/auth/v1/otp", {"phone": "070-1"}).status_code in (400, 422)


def test_a_changed_phone_is_verified(seed_platform: SeedPlatform) -> None:
    person = signed_up(seed_platform)
    phone, code = list(PHONES.items())[1]

    assert person.caller.ask("PUT", "/auth/v1/user", {"phone": f"+{phone}"}).status_code == 200
    changed = person.caller.ask(
        "POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": code, "type": "phone_change"}
    )

    assert changed.status_code == 200
    assert person.caller.result("GET", "/auth/v1/user")["phone"] == phone


def test_the_user_is_read_and_changed(seed_platform: SeedPlatform) -> None:
    person = signed_up(seed_platform, data={"team": "red"})

    read = person.caller.result("GET", "/auth/v1/user")
    changed = person.caller.result(
        "PUT", "/auth/v1/user", {"data": {"name": "Ada"}, "password": "another one"}
    )

    assert (read["id"], read["email"]) == (person.session["user"]["id"], person.email)
    assert changed["user_metadata"]["name"] == "Ada"
    assert changed["user_metadata"]["team"] == "red"
    assert MILLISECONDS.fullmatch(changed["created_at"])
    credentials = {"email": person.email, "password": "another one"}
    assert (
        seed_platform.anon.ask("POST", "/auth/v1/token?grant_type=password", credentials).status_code == 200
    )
    assert person.caller.ask("PUT", "/auth/v1/user", {"email": f"{uuid4()}@example.com"}).status_code == 200
