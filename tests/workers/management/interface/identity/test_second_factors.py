"""An authenticator app and recovery codes of administrators: enrolled, required, used once, guessed, removed, reset."""

import asyncio
import json
from dataclasses import replace

import asyncpg
import pytest

from tests.workers.management.conftest import Client, cookie_of
from tests.workers.management.interface.identity.second_factors import (
    PASSWORD,
    App,
    code_of,
    half_signed_in,
    with_app,
    with_password,
)
from workers.management.interface.rights import Right
from workers.management.operations import operation_table

_STORED = """
  select row_to_json(administrators)::text from headwater.administrators
  union all select row_to_json(codes)::text from headwater.administrator_recovery_codes as codes
"""


async def _outdate_confirmations(client: Client) -> None:
    own = await client.worker.database.own()
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_sessions set confirmed_at = now() - interval '11 minutes'"
        )


async def test_an_app_gets_a_secret_an_address_and_a_picture(visitor: Client) -> None:
    client, email = await with_password(visitor)

    enrolment = await client.run("factors.enrol_totp")

    assert enrolment["uri"].startswith("otpauth://totp/Headwater%20127.0.0.1:")
    assert email in enrolment["uri"]
    assert f"secret={enrolment['secret']}" in enrolment["uri"]
    assert enrolment["qr_code"].startswith("<svg ")
    assert (await client.run("factors.list"))["totp"] is False


async def test_an_app_counts_from_its_first_code_on(visitor: Client) -> None:
    client, email = await with_password(visitor)
    app = App((await client.run("factors.enrol_totp"))["secret"])

    assert await client.refused("factors.confirm_totp", code=app.wrong()) == (401, "invalid_code")
    before = await visitor.send("POST", "/sign-in", {"email": email, "password": PASSWORD})
    added = await client.run("factors.confirm_totp", code=app.code())
    after = await visitor.send("POST", "/sign-in", {"email": email, "password": PASSWORD})

    assert json.loads(before.body)["needs_factor"] is False
    assert json.loads(after.body)["factors"] == ["totp", "recovery_code"]
    assert len(set(added["recovery_codes"])) == 10
    assert await replace(visitor, cookie=cookie_of(before)).refused("account.me") == (401, "not_signed_in")


async def test_a_new_app_replaces_the_old_one_only_with_its_first_code(visitor: Client) -> None:
    client, email, app, _ = await with_app(visitor)
    other = App((await client.run("factors.enrol_totp"))["secret"])

    half = await half_signed_in(visitor, email)
    assert code_of(await half.send("POST", "/sign-in/factor", {"code": other.code()})) == (
        401,
        "invalid_code",
    )
    assert (await half.send("POST", "/sign-in/factor", {"code": app.code()})).status == 200

    added = await client.run("factors.confirm_totp", code=other.code())
    assert added["recovery_codes"] == []
    half = await half_signed_in(visitor, email)
    assert code_of(await half.send("POST", "/sign-in/factor", {"code": app.code()})) == (401, "invalid_code")


async def test_a_session_without_its_factor_may_do_nothing_but_give_it(visitor: Client) -> None:
    _, email, app, _ = await with_app(visitor, Right.OWNER)
    half = await half_signed_in(visitor, email)

    for operation in operation_table().all():
        assert await half.refused(operation.name) == (403, "needs_factor"), operation.name
    assert code_of(await half.send("POST", "/confirm", {"password": PASSWORD})) == (403, "needs_factor")
    completed = await half.send("POST", "/sign-in/factor", {"code": app.code()})

    assert completed.status == 200
    whole = replace(visitor, cookie=cookie_of(completed))
    assert (await whole.run("account.me"))["is_confirmed"]
    assert whole.cookie != half.cookie
    assert await half.refused("account.me") == (401, "not_signed_in")


async def test_a_session_waits_ten_minutes_for_its_factor(visitor: Client) -> None:
    _, email, app, _ = await with_app(visitor)
    half = await half_signed_in(visitor, email)
    own = await visitor.worker.database.own()
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_sessions set created_at = now() - interval '11 minutes'"
            " where needs_factor"
        )

    response = await half.send("POST", "/sign-in/factor", {"code": app.code()})

    assert code_of(response) == (401, "not_signed_in")


async def test_a_code_counts_once_even_for_two_requests_at_once(visitor: Client) -> None:
    _, email, app, _ = await with_app(visitor)
    halves = [await half_signed_in(visitor, email) for _ in range(2)]
    code = app.code()

    responses = await asyncio.gather(
        *(half.send("POST", "/sign-in/factor", {"code": code}) for half in halves)
    )

    assert sorted(response.status for response in responses) == [200, 401]


async def test_a_recovery_code_replaces_the_app_once(visitor: Client) -> None:
    client, email, _, codes = await with_app(visitor)
    first, second = [await half_signed_in(visitor, email) for _ in range(2)]
    typed = f"{codes[0][:8]}-{codes[0][8:]}".upper()

    used = await first.send("POST", "/sign-in/factor", {"recovery_code": typed})
    again = await second.send("POST", "/sign-in/factor", {"recovery_code": codes[0]})

    assert used.status == 200
    assert code_of(again) == (401, "invalid_code")
    assert (await client.run("factors.list"))["recovery_codes"] == 9


async def test_recovery_codes_are_renewed_and_go_with_the_last_factor(visitor: Client) -> None:
    client, email, _, codes = await with_app(visitor)

    renewed = (await client.run("factors.renew_recovery_codes"))["recovery_codes"]
    half = await half_signed_in(visitor, email)
    old = await half.send("POST", "/sign-in/factor", {"recovery_code": codes[1]})
    await client.run("factors.remove_totp")

    assert not set(codes) & set(renewed)
    assert code_of(old) == (401, "invalid_code")
    assert await client.run("factors.list") == {"totp": False, "recovery_codes": 0, "passkeys": []}
    assert await client.refused("factors.renew_recovery_codes") == (409, "no_factor")
    assert await client.refused("factors.remove_totp") == (404, "not_found")


async def test_guesses_of_codes_are_few_and_do_not_stop_a_recovery_code(visitor: Client) -> None:
    _, email, app, codes = await with_app(visitor)
    half = await half_signed_in(visitor, email)

    guesses = [(await half.send("POST", "/sign-in/factor", {"code": app.wrong()})).status for _ in range(6)]
    right = await half.send("POST", "/sign-in/factor", {"code": app.code()})
    recovered = await half.send("POST", "/sign-in/factor", {"recovery_code": codes[0]})

    assert guesses == [401] * 5 + [429]
    assert right.status == 429
    assert recovered.status == 200


async def test_twenty_wrong_codes_a_day_are_all(visitor: Client) -> None:
    _, email, app, _ = await with_app(visitor)
    half = await half_signed_in(visitor, email)
    own = await visitor.worker.database.own()
    statuses = []
    for _ in range(5):
        for _ in range(5):
            statuses.append((await half.send("POST", "/sign-in/factor", {"code": app.wrong()})).status)
        async with own.transaction() as transaction:
            await transaction.rows(
                "update headwater.administrator_attempts set since = since - interval '16 minutes'"
            )

    assert statuses == [401] * 20 + [429] * 5


async def test_refused_codes_do_not_count_against_the_day(visitor: Client) -> None:
    _, email, app, _ = await with_app(visitor)
    half = await half_signed_in(visitor, email)
    own = await visitor.worker.database.own()
    for _ in range(25):
        await half.send("POST", "/sign-in/factor", {"code": app.wrong()})
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_attempts set since = since - interval '16 minutes'"
        )

    assert (await half.send("POST", "/sign-in/factor", {"code": app.code()})).status == 200


@pytest.mark.parametrize(
    "body", [{}, {"code": "000000", "recovery_code": "x"}, {"other": 1}, {"code": 1}, []]
)
async def test_a_factor_is_exactly_one_proof(visitor: Client, body: object) -> None:
    _, email, _, _ = await with_app(visitor)
    half = await half_signed_in(visitor, email)

    assert code_of(await half.send("POST", "/sign-in/factor", body)) == (400, "invalid_arguments")


async def test_a_whole_session_needs_no_factor(visitor: Client) -> None:
    client, _, app, _ = await with_app(visitor)

    response = await client.send("POST", "/sign-in/factor", {"code": app.code()})

    assert code_of(response) == (409, "no_factor_needed")


async def test_a_code_confirms_a_session(visitor: Client) -> None:
    client, _, app, codes = await with_app(visitor)
    await _outdate_confirmations(client)

    assert await client.refused("factors.remove_totp") == (403, "needs_confirmation")
    assert code_of(await client.send("POST", "/confirm", {"code": app.wrong()})) == (401, "invalid_code")
    recovery = await client.send("POST", "/confirm", {"recovery_code": codes[0]})
    assert code_of(recovery) == (400, "invalid_arguments")
    assert (await client.send("POST", "/confirm", {"code": app.code()})).status == 200
    await client.run("factors.remove_totp")


async def test_factors_are_changed_by_a_session_after_a_confirmation(visitor: Client) -> None:
    client, _, _, _ = await with_app(visitor)
    created = await client.run("tokens.create", name="ci", may_write=True)
    program = replace(visitor, token=created["secret"], headers={})
    names = [
        operation.name
        for operation in operation_table().all()
        if operation.name.startswith("factors.") and operation.changes
    ]

    assert await program.refused("factors.list") == (400, "needs_session")
    await _outdate_confirmations(client)
    for name in names:
        assert await client.refused(name) == (403, "needs_confirmation"), name


async def test_the_factor_is_asked_for_after_a_link_too(owner: Client, visitor: Client) -> None:
    client, email, app, _ = await with_app(visitor)
    me = await client.run("account.me")

    by_link = await owner.run("administrators.reset", id=me["administrator_id"])
    half = await visitor.send("POST", "/sign-in", {"link": by_link["link"]})
    removed = await owner.run("administrators.reset", id=me["administrator_id"], factors=True)
    whole = await visitor.send("POST", "/sign-in", {"link": removed["link"]})

    assert json.loads(half.body)["needs_factor"] is True
    assert json.loads(whole.body)["needs_factor"] is False
    assert removed["administrator"]["has_totp"] is False
    assert await client.refused("account.me") == (401, "not_signed_in")
    late = replace(visitor, cookie=cookie_of(half))
    assert code_of(await late.send("POST", "/sign-in/factor", {"code": app.code()})) == (401, "not_signed_in")
    [row] = (await owner.run("audit.list", operation="administrators.reset", limit=1))["rows"]
    assert (row["before"]["has_totp"], row["after"]["has_totp"]) == (True, False)
    assert row["arguments"] == {"id": me["administrator_id"], "factors": True}
    assert email == row["before"]["email"]


async def test_secrets_of_factors_are_neither_in_the_database_nor_in_the_audit_log(
    owner: Client, visitor: Client
) -> None:
    client, email, app, codes = await with_app(visitor)
    half = await half_signed_in(visitor, email)
    code = app.code()
    await half.send("POST", "/sign-in/factor", {"code": code})
    superuser = await asyncpg.connect(client.superuser_url)
    stored = " ".join(row[0] or "" for row in await superuser.fetch(_STORED))
    await superuser.close()
    audit = json.dumps((await owner.run("audit.list", limit=200))["rows"])

    for secret in (app.secret, *codes, app.secret.encode().hex(), *(code.encode().hex() for code in codes)):
        assert secret not in stored
        assert secret not in audit
    assert f'"{code}"' not in audit
