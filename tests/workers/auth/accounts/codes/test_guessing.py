"""Guessing of passwords is slowed down, for accounts that exist and for those that do not."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, number, told
from workers.auth.accounts.codes import guessing
from workers.auth.accounts.codes.guessing import (
    FREE,
    FREE_OF_ALL,
    PasswordAttempt,
    is_wait_error,
    password_attempt,
)
from workers.auth.accounts.users import users
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Device
from workers.database.errors import DatabaseError

GRANT = "/token?grant_type=password"
KEY = b"k" * 32
HOURS = tuple(3600 * hours for hours in (1, 2, 4, 60))
WINDOW_S = 200 * 3600


@pytest.fixture(autouse=True)
def waits_of_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make waits so long that none is over while a slow machine runs a test; `past` lets them pass."""
    monkeypatch.setattr(guessing, "WAITS_S", HOURS)
    monkeypatch.setattr(guessing, "WINDOW_S", WINDOW_S)
    monkeypatch.setattr(guessing, "WINDOW_OF_ALL_S", WINDOW_S)


def hours(seconds: int) -> int:
    """Return a wait in hours, as it was when it began."""
    return -(-seconds // 3600)


def some_guess(client: str = "192.0.2.7") -> PasswordAttempt:
    return password_attempt(KEY, "email", "authenticated", uuid.uuid4().hex, address=client)


async def tried(
    auth_pool: AuthPool, email: str, password: str = "wrong one", client: str = "192.0.2.7"
) -> int:
    """Try a password; give the hours to wait, 0 if it was looked at."""
    body = {"email": email, "password": password}
    response = await auth_pool.send("POST", GRANT, body, client=client)
    if response.status != 429:
        return 0
    assert told(response, "x-sb-error-code") == "over_request_rate_limit"
    return hours(int(told(response, "retry-after")))


async def past(auth_pool: AuthPool, guess: PasswordAttempt | None = None, *, hours: float) -> None:
    """Let time pass for what is counted: of one try, or of all."""
    await auth_pool.admin.execute(
        """update auth.rate_limits set updated_at = updated_at - $1 * interval '1 hour'
           where name = any($2) or ($2 is null and name like 'guess:%')""",
        float(hours),
        list(guess.names) if guess else None,
    )


async def fail(auth_pool: AuthPool, guess: PasswordAttempt) -> int:
    """Count a wrong one; give the hours to wait, 0 if it was counted."""
    try:
        async with auth_pool.context.transaction() as transaction:
            await guess.failed(transaction)
    except AuthError as error:
        return hours(error.retry_after_s or -3600)
    return 0


async def succeed(auth_pool: AuthPool, guess: PasswordAttempt) -> bool:
    try:
        async with auth_pool.context.transaction() as transaction:
            await guess.succeeded(transaction)
    except AuthError:
        return False
    return True


# --- What is counted ---------------------------------------------------------------------------------------------


def test_waits_double_up_to_a_minute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()

    assert (guessing.FREE, guessing.WAITS_S, guessing.WINDOW_S) == (10, (1, 2, 4, 8, 16, 32, 60), 900)
    assert (guessing.FREE_OF_ALL, guessing.WINDOW_OF_ALL_S) == (100, 86400)


async def test_ten_are_free_and_then_waits_grow_to_the_last(auth_pool: AuthPool):
    guess, waits = some_guess(), []
    for _ in range(FREE):
        assert await fail(auth_pool, guess) == 0

    for _ in range(6):
        waits.append(await fail(auth_pool, guess))
        await past(auth_pool, guess, hours=waits[-1])
        assert await fail(auth_pool, guess) == 0

    assert waits == [1, 2, 4, 60, 60, 60]


async def test_what_is_not_looked_at_does_not_make_the_wait_longer(auth_pool: AuthPool):
    guess = some_guess()
    for _ in range(FREE + 1):
        await fail(auth_pool, guess)

    assert {await fail(auth_pool, guess) for _ in range(5)} == {1}


async def test_all_is_forgotten_after_a_while(auth_pool: AuthPool):
    guess = some_guess()
    for _ in range(FREE):
        await fail(auth_pool, guess)
    await past(auth_pool, guess, hours=201)

    assert [await fail(auth_pool, guess) for _ in range(FREE + 1)] == [0] * FREE + [1]


async def test_a_right_one_clears_but_not_during_a_wait(auth_pool: AuthPool):
    guess = some_guess()
    for _ in range(FREE - 1):
        await fail(auth_pool, guess)
    assert await succeed(auth_pool, guess)
    for _ in range(FREE):
        assert await fail(auth_pool, guess) == 0

    assert not await succeed(auth_pool, guess)
    await past(auth_pool, guess, hours=1)
    assert await succeed(auth_pool, guess)
    left = await auth_pool.admin.fetch(
        "select name from auth.rate_limits where name = any($1)", list(guess.names)
    )
    assert [row["name"] for row in left] == [guess.account]  # what others guess is not forgotten


async def test_networks_together_count_for_the_account(auth_pool: AuthPool):
    account = uuid.uuid4().hex
    guesses = [password_attempt(KEY, account, address=f"192.0.2.{n}") for n in range(FREE_OF_ALL + 1)]

    assert [await fail(auth_pool, guess) for guess in guesses] == [0] * FREE_OF_ALL + [1]


async def test_a_known_network_is_not_kept_waiting_by_others(auth_pool: AuthPool):
    user, account = await auth_pool.sign_up(), uuid.uuid4().hex
    name = uuid.uuid4().hex * 2
    sql = "insert into auth.known_networks (network_hash, user_id, seen_at) values ($1, $2, now() - $3::interval)"
    await auth_pool.admin.execute(sql, name, uuid.UUID(user.id), timedelta(days=59))
    owner = password_attempt(KEY, account, address="198.51.100.1", network=name)
    for n in range(FREE_OF_ALL):
        await fail(auth_pool, password_attempt(KEY, account, address=f"192.0.2.{n}"))

    assert await fail(auth_pool, password_attempt(KEY, account, address="203.0.113.1")) == 1
    assert [await fail(auth_pool, owner) for _ in range(FREE)] == [0] * FREE
    assert await fail(auth_pool, owner) == 1  # its own wrong ones count

    older = "update auth.known_networks set seen_at = now() - interval '61 days' where network_hash = $1"
    await auth_pool.admin.execute(older, name)
    await auth_pool.admin.execute("delete from auth.rate_limits where name = $1", owner.pair)
    assert await fail(auth_pool, owner) == 1  # not known any more, so those of all count


async def test_a_wait_at_one_network_is_nobody_else_s(plain: AuthPool):
    signed = await plain.sign_up()
    for _ in range(FREE + 1):
        await tried(plain, signed.email, client="203.0.113.9")

    assert await tried(plain, signed.email, PASSWORD, client="203.0.113.9") > 0
    assert await tried(plain, signed.email, PASSWORD, client="198.51.100.7") == 0


async def test_whoever_signed_in_before_comes_in_while_many_guess(plain: AuthPool):
    signed = await plain.sign_up()  # from 192.0.2.7
    for n in range(FREE_OF_ALL + 1):
        await tried(plain, signed.email, client=f"203.0.113.{n}")

    assert await tried(plain, signed.email, PASSWORD, client="198.51.100.1") > 0
    assert await tried(plain, signed.email, PASSWORD) == 0


async def test_the_owners_sign_in_does_not_help_who_guesses_elsewhere(auth_pool: AuthPool):
    account = uuid.uuid4().hex
    owner, other = (password_attempt(KEY, account, address=client) for client in ("192.0.2.1", "192.0.2.2"))
    for _ in range(FREE):
        await fail(auth_pool, other)
    await past(auth_pool, owner, hours=1)

    assert await succeed(auth_pool, owner)
    assert await fail(auth_pool, owner) == 0
    assert await fail(auth_pool, other) > 0


async def test_right_and_wrong_ones_at_once_do_not_lock_each_other(auth_pool: AuthPool):
    guess = some_guess()

    async with asyncio.timeout(60):
        await asyncio.gather(*((fail if n % 2 else succeed)(auth_pool, guess) for n in range(80)))


def test_no_address_can_be_read_from_the_names():
    guess = password_attempt(KEY, "email", "authenticated", "a@example.org", address='fe80::1"},{x\\')

    assert "example" not in " ".join(guess.names)
    assert guess.names[1] == f"{guess.names[0]}:fe80::1x"
    assert password_attempt(KEY, "a", address="2001:db8:1:2:3::4") == password_attempt(
        KEY, "a", address="2001:db8:1:2::"
    )
    assert password_attempt(KEY, "a", address="::ffff:192.0.2.1") == password_attempt(
        KEY, "a", address="192.0.2.1"
    )
    assert (
        guess.names
        != password_attempt(b"other" * 8, "email", "authenticated", "a@example.org", address="fe80::1").names
    )
    assert password_attempt(KEY, "ab", "c", address="") != password_attempt(KEY, "a", "bc", address="")


# --- At POST /token -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["known", "unknown", "ill-formed", "without password"])
async def test_every_address_is_slowed_down_alike(plain: AuthPool, who: str):
    email = {"ill-formed": uuid.uuid4().hex}.get(who, address())
    if who == "known":
        await plain.sign_up(email)
    if who == "without password":
        await plain.admin.execute(
            "insert into auth.users (id, aud, email) values (gen_random_uuid(), 'authenticated', $1)", email
        )

    waits = [await tried(plain, email) for _ in range(FREE + 3)]

    assert waits == [0] * FREE + [1, 1, 1]


async def test_a_right_password_is_not_looked_at_during_a_wait(plain: AuthPool):
    signed = await plain.sign_up()
    for _ in range(FREE):
        await tried(plain, signed.email)
    counted = plain.having()

    assert await tried(counted, signed.email, PASSWORD) == 1
    assert counted.hashing.verified == 0
    assert await plain.sessions_of(signed.id) == {signed.session_id}


async def test_after_the_wait_the_owner_comes_in_and_all_is_forgotten(plain: AuthPool):
    signed = await plain.sign_up()
    for _ in range(FREE):
        await tried(plain, signed.email)
    await past(plain, hours=1)

    await plain.sign_in(signed.email)

    assert [await tried(plain, signed.email) for _ in range(FREE)] == [0] * FREE


async def test_spellings_of_one_address_count_together(plain: AuthPool):
    signed = await plain.sign_up()
    spellings = [signed.email.upper(), signed.email, signed.email.title()]

    waits = [await tried(plain, spellings[n % 3]) for n in range(FREE + 1)]

    assert waits == [0] * FREE + [1]


async def test_phones_are_slowed_down_too(auth_pool: AuthPool):
    phone = number()
    spellings = [phone, f"+{phone}"]
    for n in range(FREE):
        await auth_pool.send("POST", GRANT, {"phone": spellings[n % 2], "password": "x"})

    assert (await auth_pool.refused("POST", GRANT, {"phone": phone, "password": "x"}))[:2] == (
        429,
        "over_request_rate_limit",
    )


async def test_others_are_not_slowed_down(plain: AuthPool):
    victim, other = await plain.sign_up(), await plain.sign_up()
    for _ in range(FREE + 1):
        await tried(plain, victim.email)

    await plain.sign_in(other.email)


async def test_many_sign_ins_at_once_with_the_right_password_are_let_in(plain: AuthPool):
    signed = await plain.sign_up()
    body = {"email": signed.email, "password": PASSWORD}

    answers = await asyncio.gather(*(plain.send("POST", GRANT, body) for _ in range(FREE * 3)))

    assert {each.status for each in answers} == {200}


async def test_a_burst_of_guesses_learns_no_more_than_ten_answers(plain: AuthPool):
    signed = await plain.sign_up()
    passwords = [f"guess {n}" for n in range(60)]

    waits = await asyncio.gather(*(tried(plain, signed.email, password) for password in passwords))

    assert waits.count(0) == FREE


async def test_who_is_banned_or_not_confirmed_is_not_told_so_during_a_wait(auth_pool: AuthPool):
    email = address()
    made = await auth_pool.ok("POST", "/admin/users", {"email": email, "password": PASSWORD}, ADMIN)
    await auth_pool.ok("PUT", f"/admin/users/{made['id']}", {"ban_duration": "1h"}, ADMIN)
    for _ in range(FREE):
        await tried(auth_pool, email)

    assert await tried(auth_pool, email, PASSWORD) == 1


async def test_a_stolen_token_does_not_serve_to_find_the_password(auth_pool: AuthPool):
    strict = auth_pool.having(email__require_current_password=True)
    signed = await strict.sign_up()
    body = {"password": "another horse", "current_password": "wrong one"}
    for _ in range(FREE):
        assert (await strict.refused("PUT", "/user", body, signed.caller))[1] == "current_password_invalid"

    right = {**body, "current_password": PASSWORD}
    assert (await strict.refused("PUT", "/user", right, signed.caller))[:2] == (
        429,
        "over_request_rate_limit",
    )
    await past(auth_pool, hours=1)
    await strict.ok("PUT", "/user", right, signed.caller)


async def test_a_right_one_that_comes_out_during_a_wait_begins_no_session(plain: AuthPool):
    signed, guess = await plain.sign_up(), some_guess()
    async with plain.context.transaction() as transaction:
        user = await users.find_by_email(transaction, signed.email, "authenticated")
    assert user is not None
    sessions = await plain.sessions_of(str(user.id))
    for _ in range(FREE):
        await fail(plain, guess)

    with pytest.raises(DatabaseError) as raised:
        await plain.context.start_session_alone(
            user, SignInMethod.PASSWORD, Device(), before=(guess.passing,)
        )
    assert is_wait_error(raised.value)
    assert await plain.sessions_of(str(user.id)) == sessions
    assert await fail(plain, guess) > 0

    await past(plain, guess, hours=1)
    await plain.context.start_session_alone(user, SignInMethod.PASSWORD, Device(), before=(guess.passing,))
    assert len(await plain.sessions_of(str(user.id))) == len(sessions) + 1
    assert [await fail(plain, guess) for _ in range(FREE)] == [0] * FREE
