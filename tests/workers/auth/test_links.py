"""GET and HEAD /verify: links that are followed, by people, scanners and attackers, and the page that asks first."""

from urllib.parse import quote

import pytest

from tests.workers.auth.auth_pool import AuthPool, told
from tests.workers.auth.office import SITE, Office, failure, landed, waiting

VERIFIER = "v" * 43


async def test_a_link_works_once(mailed: AuthPool, office: Office):
    email = await waiting(mailed)

    answers = [landed(await mailed.send("GET", office.path(email)))[2] for _ in range(2)]

    assert "access_token" in answers[0]
    assert answers[1] == {
        "error": "access_denied", "error_code": "otp_expired", "sb": "",
        "error_description": "Email link is invalid or has expired",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query", ["", "?type=signup", f"?token={'0' * 56}", "?type=&token=", "?redirect_to=x"]
)
async def test_what_is_no_link_is_refused_as_json(mailed: AuthPool, query: str):
    assert (await mailed.refused("GET", f"/verify{query}"))[:2] == (400, "validation_failed")


@pytest.mark.parametrize("type", ["sms", "phone_change", "nothing", "reauthentication"])
async def test_a_link_of_no_known_type_leads_home_with_a_refusal(mailed: AuthPool, type: str):
    fragment = await failure(mailed, f"/verify?type={type}&token={'0' * 56}")

    assert (fragment["error"], fragment["error_code"]) == ("invalid_request", "validation_failed")


@pytest.mark.parametrize(
    "token", ["x", "0" * 56, "pkce_" + "0" * 56, "%F0%9F%92%A9", "0" * 5000, "' or true --"]
)
async def test_tokens_that_are_none_lead_home_with_a_refusal(mailed: AuthPool, token: str):
    path = f"/verify?type=signup&token={quote(token, safe='%')}"

    assert (await failure(mailed, path))["error_code"] == "otp_expired"


async def test_answers_are_kept_by_nobody_and_the_address_is_not_told_on(mailed: AuthPool, office: Office):
    response = await mailed.send("GET", office.path(await waiting(mailed)))

    assert (told(response, "cache-control"), told(response, "referrer-policy")) == ("no-store", "no-referrer")


@pytest.mark.parametrize(
    "evil",
    [
        "https://evil.example",
        "//evil.example",
        "http://127.0.0.1:3000@evil.example",
        "https://app.example.org.evil.example/in",
        "http://evil.example\r\nx: y",
    ],
)
@pytest.mark.parametrize("is_good", [True, False])
async def test_no_link_leads_anywhere_else(mailed: AuthPool, office: Office, evil: str, is_good: bool):
    allowing = mailed.having(additional_redirect_urls=["https://app.example.org/*"])
    email = await waiting(mailed)
    token = office.token(email) if is_good else "0" * 56

    path = f"/verify?type=signup&token={token}&redirect_to={quote(evil, safe='')}"
    response = await allowing.send("GET", path, referer="https://evil.example/")

    target = landed(response)[0]
    assert target == SITE
    assert "evil" not in told(response, "location")


async def test_only_looking_at_a_link_uses_nothing_up(mailed: AuthPool, office: Office):
    email = await waiting(mailed)

    looked = [await mailed.send("HEAD", office.path(email)) for _ in range(3)]

    assert [(each.status, each.body, told(each, "location")) for each in looked] == [(200, b"", "")] * 3
    assert "access_token" in landed(await mailed.send("GET", office.path(email)))[2]


async def test_a_confirmation_page_asks_before_the_link_is_used_up(mailed: AuthPool, office: Office):
    asking, email = mailed.having(email__confirmation_page=True), await waiting(mailed)

    pages = [await asking.send("GET", office.path(email)) for _ in range(3)]
    pressed, form = office.path(email).partition("?")[2].encode(), "application/x-www-form-urlencoded"
    response = await asking.send("POST", "/verify/continue", pressed, content_type=form)
    again = await asking.send("POST", "/verify/continue", pressed, content_type=form)

    assert {each.status for each in pages} == {200}
    page = pages[0].body.decode()
    assert office.token(email) in page
    assert '<form method="post" action="verify/continue">' in page
    assert "<script" not in page
    assert "default-src 'none'" in told(pages[0], "content-security-policy")
    assert told(pages[0], "cache-control") == "no-store"
    assert "access_token" in landed(response)[2]
    assert landed(again)[2]["error_code"] == "otp_expired"


async def test_the_confirmation_page_shows_what_it_is_given_as_text(mailed: AuthPool):
    asking = mailed.having(email__confirmation_page=True)
    evil = quote('"><script>alert(1)</script>{x}', safe="")

    response = await asking.send("GET", f"/verify?type={evil}&token={evil}&redirect_to={evil}")

    assert response.status == 200
    assert b"<script" not in response.body
    assert response.body.count(b"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;{x}") == 3


async def test_a_database_that_stumbles_leads_home_with_a_refusal(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    await mailed.admin.execute(
        "create function auth.no_more() returns trigger language plpgsql as $$ begin"
        " if new.email = 'x' or tg_op = 'UPDATE' and new.email like '%@example.org' and new.email_confirmed_at is not null"
        " and old.email_confirmed_at is null then raise exception 'no more'; end if; return new; end $$"
    )
    await mailed.admin.execute(
        "create trigger no_more before update on auth.users for each row execute function auth.no_more()"
    )
    try:
        fragment = await failure(mailed, office.path(email))
    finally:
        await mailed.admin.execute("drop trigger no_more on auth.users")
        await mailed.admin.execute("drop function auth.no_more()")

    assert (fragment["error"], fragment["error_description"]) == ("server_error", "no more")
    assert "access_token" in landed(await mailed.send("GET", office.path(email)))[2]
