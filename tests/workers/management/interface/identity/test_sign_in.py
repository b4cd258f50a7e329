"""Signing in by link and password, sessions, tokens, and what other sites and guesses get."""

import json
import uuid
from dataclasses import replace

from tests.workers.management.conftest import ORIGIN, Client, cookie_of
from workers.management.interface.identity.model import Actor
from workers.management.interface.rights import Right
from workers.management.operations.tokens import CreatedToken

PASSWORD = "a long enough password"


def _email() -> str:
    return f"{uuid.uuid4().hex}@example.com"


async def test_a_link_signs_in_once(owner: Client, visitor: Client) -> None:
    added = await owner.run("administrators.add", email=_email(), rights="developer")

    first = await visitor.send("POST", "/sign-in", {"link": added["link"]})
    second = await visitor.send("POST", "/sign-in", {"link": added["link"]})

    assert (first.status, second.status) == (200, 401)
    me = await replace(visitor, cookie=cookie_of(first)).run("account.me")
    assert (me["rights"], me["is_confirmed"]) == ("developer", True)


async def test_a_session_is_asked_for_without_an_error(owner: Client, visitor: Client) -> None:
    answers = [
        await client.send("POST", "/session", {}) for client in (visitor, owner, replace(owner, cookie="x"))
    ]

    assert [(answer.status, json.loads(answer.body)["is_signed_in"]) for answer in answers] == [
        (200, False),
        (200, True),
        (200, False),
    ]


async def test_a_password_signs_in_and_a_wrong_one_does_not(visitor: Client) -> None:
    email = _email()
    client = await visitor.signed_in(email, Right.READER)
    await client.run("account.set_password", password=PASSWORD)

    right = await visitor.send("POST", "/sign-in", {"email": email.upper(), "password": PASSWORD})
    wrong = await visitor.send("POST", "/sign-in", {"email": email, "password": "another password"})
    unknown = await visitor.send("POST", "/sign-in", {"email": _email(), "password": PASSWORD})

    assert [response.status for response in (right, wrong, unknown)] == [200, 401, 401]
    assert wrong.body == unknown.body


async def test_guesses_are_slowed_down_and_a_success_forgets_them(visitor: Client) -> None:
    email = _email()
    client = await visitor.signed_in(email, Right.READER)
    await client.run("account.set_password", password=PASSWORD)
    guessing = replace(visitor, address="192.0.2.1")

    statuses = [
        (await guessing.send("POST", "/sign-in", {"email": email, "password": f"guess {number}"})).status
        for number in range(11)
    ]

    assert statuses == [401] * 10 + [429]
    late = await guessing.send("POST", "/sign-in", {"email": email, "password": PASSWORD})
    assert late.status == 429


async def test_setting_a_password_ends_the_other_sessions(visitor: Client) -> None:
    email = _email()
    client = await visitor.signed_in(email, Right.READER)
    await client.run("account.set_password", password=PASSWORD)
    other = replace(
        visitor,
        cookie=cookie_of(await visitor.send("POST", "/sign-in", {"email": email, "password": PASSWORD})),
    )

    await client.run("account.set_password", password=PASSWORD + "!")

    assert await other.refused("account.me") == (401, "not_signed_in")
    assert (await client.run("account.me"))["name"] == email


async def test_a_session_is_over_after_signing_out(owner: Client) -> None:
    response = await owner.send("POST", "/sign-out")

    assert response.status == 200
    assert await owner.refused("account.me") == (401, "not_signed_in")


async def test_a_cookie_without_our_origin_is_useless(owner: Client) -> None:
    for headers in (
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ):
        assert await replace(owner, headers=headers).refused("account.me") == (403, "cross_site"), headers
    same = replace(owner, headers={"sec-fetch-site": "same-origin"})
    assert (await same.run("account.me"))["rights"] == "owner"


async def test_a_token_has_at_most_the_rights_that_its_maker_has_today(
    owner: Client, visitor: Client
) -> None:
    email = _email()
    developer = await visitor.signed_in(email, Right.DEVELOPER)
    created = await developer.run("tokens.create", name="ci", rights="developer", may_write=True)
    program = replace(visitor, token=created["secret"], headers={})

    assert await developer.refused("tokens.create", name="x", rights="owner") == (403, "no_right")
    assert (await program.run("account.me"))["rights"] == "developer"
    [found] = [each for each in await owner.run("administrators.list") if each["email"] == email]
    await owner.run("administrators.change", id=found["id"], rights="reader")
    assert (await program.run("account.me"))["rights"] == "reader"
    await owner.run("administrators.change", id=found["id"], rights="reader", disabled=True)
    assert await program.refused("account.me") == (401, "not_signed_in")
    assert await developer.refused("account.me") == (401, "not_signed_in")


async def test_a_token_that_only_reads_cannot_change_anything(owner: Client, visitor: Client) -> None:
    created = await owner.run("tokens.create", name="look", rights="owner")
    program = replace(visitor, token=created["secret"], headers={})

    assert await program.refused("tokens.create", name="x") == (403, "read_only_token")
    assert len(await program.run("administrators.list")) >= 1


async def test_a_token_without_an_administrator_sees_and_ends_nothing_of_administrators(
    owner: Client, visitor: Client
) -> None:
    machine = Actor("command line", Right.OWNER, may_write=True, is_confirmed=True)
    made = await visitor.worker.operate(
        machine, "tokens.create", b'{"name": "ci", "rights": "developer", "may_write": true}', "", ""
    )
    assert isinstance(made, CreatedToken)
    program = replace(visitor, token=made.secret, headers={})
    [session] = [row for row in await owner.run("account.sessions") if row["is_current"]]
    token = (await owner.run("tokens.create", name="of an owner"))["token"]

    assert await program.run("account.sessions") == []
    assert await program.run("tokens.list") == []
    assert await program.refused("account.end_session", id=session["id"]) == (404, "not_found")
    assert await program.refused("tokens.remove", id=token["id"]) == (404, "not_found")


async def test_a_removed_and_an_ended_token_open_nothing(owner: Client, visitor: Client) -> None:
    created = await owner.run("tokens.create", name="short", lasts_s=1e-3)
    removed = await owner.run("tokens.create", name="gone")
    await owner.run("tokens.remove", id=removed["token"]["id"])

    for secret in (created["secret"], removed["secret"], "sbp_" + "0" * 40, "sbp_é", "x"):
        assert await replace(visitor, token=secret).refused("account.me") == (401, "not_signed_in")


async def test_a_confirmation_lasts_for_ten_minutes(owner: Client) -> None:
    await owner.run("account.set_password", password=PASSWORD)
    own = await owner.worker.database.own()
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_sessions set confirmed_at = now() - interval '11 minutes'"
        )

    assert await owner.refused("tokens.create", name="x") == (403, "needs_confirmation")
    wrong = await owner.send("POST", "/confirm", {"password": "wrong password"})
    right = await owner.send("POST", "/confirm", {"password": PASSWORD})
    assert (wrong.status, right.status) == (401, 200)
    assert (await owner.run("tokens.create", name="x"))["token"]["rights"] == "reader"


async def test_the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites(
    visitor: Client, owner: Client
) -> None:
    added = await owner.run("administrators.add", email=_email(), rights="reader")
    response = await visitor.send("POST", "/sign-in", {"link": added["link"]})

    [cookie] = [value for name, value in response.headers if name == "set-cookie"]
    assert cookie.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert ORIGIN.startswith("http:")
    assert json.loads(response.body).keys() == {"administrator_id", "needs_factor", "factors"}
