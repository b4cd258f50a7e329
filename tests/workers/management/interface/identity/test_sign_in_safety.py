"""Sign-ins in the audit log, sessions that others set, limits that do not lock an owner out."""

import asyncio
import json
import uuid
from dataclasses import replace

import pytest

from tests.workers.management.conftest import Client, cookie_of
from tests.workers.management.interface.identity.second_factors import (
    PASSWORD,
    code_of,
    half_signed_in,
    with_app,
    with_password,
)
from workers.management.interface.rights import Right

_ME = "/operations/account.me"


async def _guess(client: Client, email: str, times: int) -> list[int]:
    return [
        (await client.send("POST", "/sign-in", {"email": email, "password": f"guess {number}"})).status
        for number in range(times)
    ]


async def test_sign_ins_done_and_failed_are_in_the_audit_log(owner: Client, visitor: Client) -> None:
    client, email, app, _ = await with_app(visitor)
    await _guess(visitor, email, 1)
    half = await half_signed_in(visitor, email)
    await half.send("POST", "/sign-in/factor", {"code": app.wrong()})
    completed = await half.send("POST", "/sign-in/factor", {"code": app.code()})
    whole = replace(visitor, cookie=cookie_of(completed))
    await whole.send("POST", "/confirm", {"password": "wrong password"})
    await whole.send("POST", "/sign-out")

    rows = [row for row in (await owner.run("audit.list", limit=100))["rows"] if row["actor"] == email]
    events = [(row["operation"], row["arguments"].get("method"), row["outcome"]) for row in reversed(rows)]

    assert events[-6:] == [
        ("sign_in", "password", "invalid_credentials"),
        ("sign_in", "password", "done"),
        ("sign_in.factor", "totp", "invalid_code"),
        ("sign_in.factor", "totp", "done"),
        ("confirm", "password", "invalid_credentials"),
        ("sign_out", None, "done"),
    ]
    assert rows[0]["address"] == "127.0.0.1"
    assert client.address == "127.0.0.1"


async def test_what_is_typed_into_the_wrong_field_is_not_stored(owner: Client, visitor: Client) -> None:
    secret = f"my password {uuid.uuid4().hex}"
    await visitor.send("POST", "/sign-in", {"email": secret, "password": ""})
    await visitor.send("POST", "/sign-in", {"email": "mallory@example.com", "password": secret})
    link = uuid.uuid4().hex
    await visitor.send("POST", "/sign-in", {"link": link})

    text = json.dumps((await owner.run("audit.list", limit=50))["rows"])

    assert secret not in text
    assert link not in text
    assert '"mallory@example.com"' in text


async def test_a_session_that_the_browser_brought_ends_with_the_sign_in(visitor: Client) -> None:
    attacker, _ = await with_password(visitor)
    _, email = await with_password(visitor)
    victim = replace(visitor, cookie=attacker.cookie)

    response = await victim.send("POST", "/sign-in", {"email": email, "password": PASSWORD})

    assert cookie_of(response) != attacker.cookie
    assert await attacker.refused("account.me") == (401, "not_signed_in")
    assert (await replace(visitor, cookie=cookie_of(response)).run("account.me"))["name"] == email


async def test_a_cookie_that_the_server_did_not_make_is_never_used(visitor: Client) -> None:
    _, email = await with_password(visitor)
    fixed = replace(visitor, cookie="headwater_session=chosen-by-an-attacker")

    response = await fixed.send("POST", "/sign-in", {"email": email, "password": PASSWORD})

    assert "chosen-by-an-attacker" not in cookie_of(response)
    assert await fixed.refused("account.me") == (401, "not_signed_in")


async def test_guesses_from_elsewhere_do_not_lock_an_administrator_out_of_a_known_network(
    visitor: Client,
) -> None:
    home = replace(visitor, address="203.0.113.5")
    _, email = await with_password(home)
    statuses = []
    for network in range(4):
        attacker = replace(visitor, address=f"198.51.100.{100 + network}")
        statuses += await _guess(attacker, email, 9)

    at_home = await home.send("POST", "/sign-in", {"email": email, "password": PASSWORD})
    away = await replace(visitor, address="192.0.2.200").send(
        "POST", "/sign-in", {"email": email, "password": PASSWORD}
    )

    assert statuses == [401] * 30 + [429] * 6
    assert at_home.status == 200
    assert away.status == 429


async def test_a_reset_opens_the_way_in_whatever_was_guessed(owner: Client, visitor: Client) -> None:
    client, email, app, _ = await with_app(visitor)
    half = await half_signed_in(visitor, email)
    for _ in range(6):
        await half.send("POST", "/sign-in/factor", {"code": app.wrong()})
    blocked = replace(visitor, address="198.51.100.77")
    for _ in range(51):
        await blocked.send("POST", "/sign-in", {"link": "wrong"})
    me = await client.run("account.me")

    reset = await owner.run("administrators.reset", id=me["administrator_id"], factors=True)
    response = await blocked.send("POST", "/sign-in", {"link": reset["link"]})

    assert code_of(await blocked.send("POST", "/sign-in", {"link": "wrong"})) == (429, "too_many_attempts")
    assert response.status == 200
    assert json.loads(response.body)["needs_factor"] is False


async def test_guesses_at_once_are_counted_one_by_one(visitor: Client) -> None:
    _, email = await with_password(visitor)
    guessing = replace(visitor, address="198.51.100.90")
    body = {"email": email, "password": "wrong password"}

    responses = await asyncio.gather(*(guessing.send("POST", "/sign-in", body) for _ in range(15)))

    assert sorted(response.status for response in responses) == [401] * 10 + [429] * 5


async def test_rows_of_failures_are_as_few_as_guesses(owner: Client, visitor: Client) -> None:
    email = f"{uuid.uuid4().hex}@example.com"
    await _guess(replace(visitor, address="198.51.100.91"), email, 14)

    rows = [row for row in (await owner.run("audit.list", limit=100))["rows"] if row["actor"] == email]

    assert len(rows) == 10


async def test_sessions_show_address_program_and_which_one_is_used(visitor: Client) -> None:
    browser = replace(visitor, headers={**visitor.headers, "user-agent": "Firefox\0é"}, address="203.0.113.9")
    client, email = await with_password(browser)
    other = await browser.send("POST", "/sign-in", {"email": email, "password": PASSWORD})

    sessions = await client.run("account.sessions")
    await client.run("account.end_other_sessions")

    assert {(row["address"], row["method"], row["is_current"]) for row in sessions} == {
        ("203.0.113.9", "link", True),
        ("203.0.113.9", "password", False),
    }
    assert sessions[0]["user_agent"] == "Firefoxé"
    assert await replace(browser, cookie=cookie_of(other)).refused("account.me") == (401, "not_signed_in")
    assert len(await client.run("account.sessions")) == 1


@pytest.mark.parametrize(
    "path", ["/sign-in", "/sign-in/factor", "/confirm", "/sign-out", "/sign-in/passkey-options"]
)
async def test_sign_in_takes_posts_of_its_own_page_alone(visitor: Client, path: str) -> None:
    client, _ = await with_password(visitor, Right.DEVELOPER)
    foreign = replace(client, headers={"origin": "https://evil.example"})

    assert (await client.send("GET", path)).status == 405
    assert code_of(await foreign.send("POST", path, {})) == (403, "cross_site")


async def test_over_tls_only_the_cookie_of_this_host_counts(visitor: Client) -> None:
    secure = replace(
        visitor, server_origin="https://api.example.org", headers={"origin": "https://api.example.org"}
    )
    client, *_ = await with_password(visitor)
    name, _, secret = client.cookie.partition("=")

    planted = await replace(secure, cookie=f"headwater_session={secret}").send("POST", _ME, {})
    own = await replace(
        secure, cookie=f'broken="{{; headwater_session=planted; __Host-headwater_session={secret}'
    ).send("POST", _ME, {})
    plain = await replace(client, cookie=f"a=b;{name}={secret}; bro ken[]=").send("POST", _ME, {})

    assert (planted.status, own.status, plain.status) == (401, 200, 200)
