"""Passkeys of administrators: registered, used to sign in, as a second factor, to confirm; and what a wrong authenticator gets."""

import json
import uuid
from dataclasses import replace
from typing import Any

import pytest

from tests.workers.credentials.authenticator import PRESENT, VERIFIED, Authenticator
from tests.workers.management.conftest import Client, cookie_of
from tests.workers.management.interface.identity.second_factors import (
    HOST,
    PASSWORD,
    add_passkey,
    code_of,
    half_signed_in,
    on_host,
    passkey_answer,
    with_app,
    with_passkey,
    with_password,
)
from workers.management.interface.identity.passkeys import party_of
from workers.management.interface.rights import Right


async def _sign_in(browser: Client, key: Authenticator) -> Any:
    answer = await passkey_answer(browser, key)
    return await browser.send("POST", "/sign-in", {"passkey": answer})


async def test_a_passkey_signs_in_without_address_and_password(visitor: Client) -> None:
    _, email, key = await with_passkey(visitor)
    browser = on_host(visitor)

    response = await _sign_in(browser, key)

    assert json.loads(response.body)["needs_factor"] is False
    signed_in = replace(browser, cookie=cookie_of(response))
    assert signed_in.cookie.startswith("__Host-")
    assert (await signed_in.run("account.me"))["name"] == email
    [session] = [row for row in await signed_in.run("account.sessions") if row["is_current"]]
    assert session["method"] == "passkey"


async def test_options_ask_for_a_passkey_of_this_host_whose_user_is_verified(visitor: Client) -> None:
    client = on_host((await with_password(visitor))[0])

    creation = (await client.run("factors.passkey_options"))["options"]
    request = json.loads((await on_host(visitor).send("POST", "/sign-in/passkey-options")).body)["options"]

    assert creation["rp"]["id"] == request["rpId"] == "admin.example.com"
    assert creation["authenticatorSelection"]["residentKey"] == "required"
    assert creation["authenticatorSelection"]["userVerification"] == "required"
    assert request["userVerification"] == "required"
    assert request["allowCredentials"] == []


async def test_a_password_alone_does_not_replace_a_passkey(visitor: Client) -> None:
    _, email, key = await with_passkey(visitor)
    half = await half_signed_in(on_host(visitor), email)

    completed = await half.send("POST", "/sign-in/factor", {"passkey": await passkey_answer(half, key)})

    assert completed.status == 200
    assert (await replace(half, cookie=cookie_of(completed)).run("account.me"))["name"] == email


async def test_several_passkeys_have_names_and_are_removed(visitor: Client) -> None:
    client, _, _ = await with_passkey(visitor)
    other = Authenticator(origin=HOST)

    added = (await add_passkey(client, other, "Key in the safe"))["passkey"]
    renamed = await client.run("factors.rename_passkey", id=added["id"], name=" Key at home ")
    listed = (await client.run("factors.list"))["passkeys"]
    await client.run("factors.remove_passkey", id=added["id"])

    assert added["name"] == "Key in the safe"
    assert renamed["name"] == "Key at home"
    assert [passkey["name"] for passkey in listed] == ["iCloud Keychain", "Key at home"]
    assert code_of(await _sign_in(on_host(visitor), other)) == (401, "invalid_passkey")
    assert await client.refused("factors.remove_passkey", id=added["id"]) == (404, "not_found")
    assert await client.refused("factors.rename_passkey", id=added["id"], name="x") == (404, "not_found")


async def test_a_first_passkey_brings_recovery_codes_and_another_one_does_not(visitor: Client) -> None:
    client, email = await with_password(visitor)
    client = on_host(client)

    first = await add_passkey(client, Authenticator(origin=HOST))
    second = await add_passkey(client, Authenticator(origin=HOST))
    half = await half_signed_in(visitor, email)
    used = await half.send("POST", "/sign-in/factor", {"recovery_code": first["recovery_codes"][0]})

    assert (len(first["recovery_codes"]), second["recovery_codes"]) == (10, [])
    assert used.status == 200


async def test_a_passkey_confirms_a_session(visitor: Client) -> None:
    client, _, key = await with_passkey(visitor)
    own = await client.worker.database.own()
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_sessions set confirmed_at = now() - interval '1 day'"
        )

    assert await client.refused("tokens.create", name="x") == (403, "needs_confirmation")
    answer = await passkey_answer(client, key)
    assert (await client.send("POST", "/confirm", {"passkey": answer})).status == 200
    await client.run("tokens.create", name="x")


async def test_the_passkey_of_another_administrator_neither_confirms_nor_is_a_factor(visitor: Client) -> None:
    mine, email, _ = await with_passkey(visitor)
    _, _, theirs = await with_passkey(visitor)
    half = await half_signed_in(on_host(visitor), email)

    for client, path in ((mine, "/confirm"), (half, "/sign-in/factor")):
        options = json.loads((await client.send("POST", "/sign-in/passkey-options")).body)
        credential = theirs.get({**options["options"], "allowCredentials": []})
        body = {"passkey": {"challenge_id": options["challenge_id"], "credential": credential}}
        assert code_of(await client.send("POST", path, body)) == (401, "invalid_passkey"), path


@pytest.mark.parametrize(
    "fault",
    [
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"origin": "https://evil.example"},
        {"origin": "https://admin.example.com.evil.example"},
        {"origin": "http://admin.example.com"},
        {"rp_id": "evil.example"},
        {"challenge": b"c" * 32},
        {"type": "webauthn.create"},
        {"user_handle": b""},
        {"user_handle": str(uuid.UUID(int=1)).encode()},
        {"client_data": {"crossOrigin": True}},
    ],
    ids=str,
)
async def test_a_wrong_answer_of_a_passkey_does_not_sign_in(visitor: Client, fault: dict[str, Any]) -> None:
    _, _, key = await with_passkey(visitor)
    browser = replace(on_host(visitor), address=f"2001:db8:{uuid.uuid4().hex[:4]}::1")

    wrong = await _sign_in(browser, replace(key, **fault))
    right = await _sign_in(browser, key)

    assert code_of(wrong) == (401, "invalid_passkey")
    assert right.status == 200


async def test_a_signature_of_another_key_does_not_sign_in(visitor: Client) -> None:
    _, _, key = await with_passkey(visitor)
    _, _, other = await with_passkey(visitor)
    forged = replace(other.held[0], id=key.held[0].id, user_handle=key.held[0].user_handle)

    response = await _sign_in(on_host(visitor), replace(key, held=[forged]))

    assert code_of(response) == (401, "invalid_passkey")


async def test_a_challenge_works_once_and_for_what_it_was_made(visitor: Client) -> None:
    client, _, key = await with_passkey(visitor)
    browser = on_host(visitor)
    answer = await passkey_answer(browser, key)
    registration = await client.run("factors.passkey_options")
    cross = {"challenge_id": registration["challenge_id"], "credential": answer["credential"]}

    assert code_of(await browser.send("POST", "/sign-in", {"passkey": cross})) == (401, "invalid_challenge")
    assert (await browser.send("POST", "/sign-in", {"passkey": answer})).status == 200
    assert code_of(await browser.send("POST", "/sign-in", {"passkey": answer})) == (401, "invalid_challenge")
    nowhere = {"challenge_id": "x", "credential": {}}
    assert code_of(await browser.send("POST", "/sign-in", {"passkey": nowhere})) == (401, "invalid_challenge")


async def test_a_cloned_key_is_noticed(visitor: Client) -> None:
    _, _, key = await with_passkey(visitor)
    assert (await _sign_in(on_host(visitor), key)).status == 200

    key.held[0].count = 0
    response = await _sign_in(on_host(visitor), key)

    assert code_of(response) == (401, "invalid_passkey")


@pytest.mark.parametrize("fault", [{"flags": PRESENT}, {"origin": "https://evil.example"}, {"rp_id": "evil"}])
async def test_a_wrong_registration_stores_nothing(visitor: Client, fault: dict[str, Any]) -> None:
    client = on_host((await with_password(visitor))[0])
    options = await client.run("factors.passkey_options")
    credential = Authenticator(**{"origin": HOST, **fault}).create(options["options"])

    refused = await client.refused(
        "factors.add_passkey", challenge_id=options["challenge_id"], credential=credential
    )

    assert refused == (400, "invalid_arguments")
    assert (await client.run("factors.list"))["passkeys"] == []


async def test_a_passkey_is_registered_once(visitor: Client) -> None:
    client, _, key = await with_passkey(visitor)
    options = await client.run("factors.passkey_options")
    assert [row["id"] for row in options["options"]["excludeCredentials"]] != []
    credential = key.create(options["options"], id=key.held[0].id)

    refused = await client.refused(
        "factors.add_passkey", challenge_id=options["challenge_id"], credential=credential
    )

    assert refused == (409, "already_there")


async def test_a_disabled_administrator_does_not_sign_in_by_passkey(owner: Client, visitor: Client) -> None:
    client, _, key = await with_passkey(visitor)
    me = await client.run("account.me")
    await owner.run("administrators.change", id=me["administrator_id"], rights="reader", disabled=True)

    assert code_of(await _sign_in(on_host(visitor), key)) == (401, "invalid_passkey")


@pytest.mark.parametrize("origin", ["http://127.0.0.1:54321", "https://[::1]:8443", ""])
async def test_a_page_without_a_host_name_cannot_have_passkeys(visitor: Client, origin: str) -> None:
    browser = replace(visitor, server_origin=origin, headers={"origin": origin} if origin else {})

    response = await browser.send("POST", "/sign-in/passkey-options")

    assert code_of(response) == (400, "no_host_name")


def test_the_relying_party_is_the_host_of_the_page() -> None:
    party = party_of("http://localhost:54321")

    assert (party.id, party.origins) == ("localhost", ("http://localhost:54321",))


async def test_challenges_for_clients_that_are_not_signed_in_are_limited(visitor: Client) -> None:
    browser = replace(on_host(visitor), address="198.51.100.7")

    statuses = [(await browser.send("POST", "/sign-in/passkey-options")).status for _ in range(101)]

    assert statuses == [200] * 100 + [429]


async def test_an_app_and_a_passkey_are_both_offered(visitor: Client) -> None:
    client, email, app, _ = await with_app(visitor, Right.DEVELOPER)
    await add_passkey(on_host(client), Authenticator(origin=HOST))

    response = await visitor.send("POST", "/sign-in", {"email": email, "password": PASSWORD})

    assert json.loads(response.body)["factors"] == ["totp", "passkey", "recovery_code"]
    half = replace(visitor, cookie=cookie_of(response))
    assert (await half.send("POST", "/sign-in/factor", {"code": app.code()})).status == 200
