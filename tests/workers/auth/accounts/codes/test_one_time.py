"""One-time codes of users in the database: issued, found, tried, used up."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from tests.workers.auth.auth_pool import AuthPool, address, number
from workers.auth.accounts.codes import networks, one_time
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, CodeKind, OneTimeToken
from workers.auth.accounts.users import users
from workers.auth.model.codes import OneTimeCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser, NewUser

AUD = "authenticated"


async def issued(auth_pool: AuthPool, user: AuthUser, kind: CodeKind, to: str, **more: object) -> OneTimeCode:
    context = auth_pool.context
    async with context.transaction() as transaction:
        return await one_time.issue(
            transaction,
            context.code_key,
            user.id,
            kind,
            to,
            now=context.now(),
            **more,  # type: ignore[arg-type]  # as a test gives them
        )


async def person(auth_pool: AuthPool, email: str = "", phone: str = "") -> AuthUser:
    new = NewUser(aud=AUD, role=AUD, email=email or address(), phone=phone)
    async with auth_pool.context.transaction() as transaction:
        return await users.create(transaction, new)


async def tried(
    auth_pool: AuthPool, kinds: tuple[CodeKind, ...], to: str, code: str, **more: object
) -> OneTimeToken | None:
    return await one_time.try_code(auth_pool.context, kinds, to, code, AUD, **more)  # type: ignore[arg-type]  # as a test gives them


async def linked(auth_pool: AuthPool, link: str, *kinds: CodeKind) -> OneTimeToken | None:
    async with auth_pool.context.transaction() as transaction:
        return await one_time.find_by_link(auth_pool.context, transaction, link, kinds or (*CodeKind,))


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10 ** len(code):0{len(code)}d}"


@pytest.mark.parametrize("kind", [*CodeKind])
async def test_a_code_of_each_kind_stands_in_its_column_and_is_found_both_ways(
    auth_pool: AuthPool, kind: CodeKind
):
    user = await person(auth_pool)
    email = user.email or ""

    code = await issued(auth_pool, user, kind, email)

    row = await auth_pool.admin.fetchrow("select * from auth.users where id = $1", user.id)
    assert row is not None
    assert row[kind.value] == code.stored
    assert [name for name in CodeKind if row[name.value]] == [kind]
    again = await one_time_user(auth_pool, user.id)
    assert one_time.sent_at(again, kind) is not None
    by_link, by_code = (
        await linked(auth_pool, code.link, kind),
        await tried(auth_pool, (kind,), email, code.code),
    )
    assert by_link is not None
    assert by_code is not None
    assert by_link.id == by_code.id
    assert (by_link.user_id, by_link.token_type, by_link.relates_to) == (user.id, kind, email)


async def one_time_user(auth_pool: AuthPool, id: uuid.UUID) -> AuthUser:
    async with auth_pool.context.transaction() as transaction:
        user = await users.find_by_id(transaction, id)
    assert user is not None
    return user


async def test_a_new_code_makes_the_old_one_of_its_kind_void_and_begins_to_count_anew(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    old = await issued(auth_pool, user, CodeKind.RECOVERY, email, code="111111")
    other = await issued(auth_pool, user, CodeKind.REAUTHENTICATION, email)
    for _ in range(4):
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "999999") is None
    new = await issued(auth_pool, user, CodeKind.RECOVERY, email, code="222222")

    assert await linked(auth_pool, old.link) is None
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "111111") is None
    for _ in range(3):
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "999999") is None
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, new.code) is not None
    assert await linked(auth_pool, other.link) is not None


async def test_a_code_is_of_its_kind_its_address_its_audience_and_its_user(auth_pool: AuthPool):
    user, other = await person(auth_pool), await person(auth_pool)
    email = user.email or ""
    code = await issued(auth_pool, user, CodeKind.RECOVERY, email)

    assert await tried(auth_pool, (CodeKind.CONFIRMATION,), email, code.code) is None
    assert await tried(auth_pool, (CodeKind.RECOVERY,), other.email or "", code.code) is None
    assert (
        await one_time.try_code(auth_pool.context, (CodeKind.RECOVERY,), email, code.code, "elsewhere")
        is None
    )
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, code.code, user_id=other.id) is None
    assert await linked(auth_pool, code.link, CodeKind.CONFIRMATION) is None
    assert await tried(
        auth_pool, (CodeKind.CONFIRMATION, CodeKind.RECOVERY), email, code.code, user_id=user.id
    )


async def test_the_fifth_try_may_still_be_the_right_one(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    code = await issued(auth_pool, user, CodeKind.RECOVERY, email)

    for _ in range(4):
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, wrong(code.code)) is None

    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, code.code) is not None


async def test_wrong_codes_typed_at_once_in_several_workers_are_all_counted(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    await issued(auth_pool, user, CodeKind.RECOVERY, email, code="500000")
    workers = [auth_pool.having(), auth_pool.having(), auth_pool.having()]

    guesses = [f"{400000 + guess:06d}" for guess in range(9)]
    tries = (tried(workers[n % 3], (CodeKind.RECOVERY,), email, guess) for n, guess in enumerate(guesses))
    assert await asyncio.gather(*tries) == [None] * 9

    failed = await auth_pool.value(
        "select failed_attempts from auth.one_time_tokens where user_id = $1", user.id
    )
    assert failed == 5
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "500000") is None


async def tries_refused(auth_pool: AuthPool, email: str, number_of: int, client: str = "") -> int:
    """Type wrong codes, and give how many were not even looked at."""
    refused = 0
    for _ in range(number_of):
        try:
            assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "400000", client=client) is None
        except AuthError as error:
            refused += error.status == 429 and 0 < (error.retry_after_s or 0) <= 360
    return refused


async def test_guessing_goes_on_no_faster_with_new_codes(auth_pool: AuthPool):
    user = await person(auth_pool)
    email, refused = user.email or "", 0
    for _ in range(7):
        await issued(auth_pool, user, CodeKind.RECOVERY, email, code="500000")
        refused += await tries_refused(auth_pool, email, 5)

    assert refused == 5


async def test_an_address_that_nobody_has_is_slowed_down_like_any_other(auth_pool: AuthPool):
    assert await tries_refused(auth_pool, address(), 32) == 2


async def test_one_client_is_slowed_down_before_it_keeps_the_owner_out(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    await issued(auth_pool, user, CodeKind.RECOVERY, email, code="500000")

    assert await tries_refused(auth_pool, email, 40, client="203.0.113.66") == 30
    new = await issued(auth_pool, user, CodeKind.RECOVERY, email)
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, new.code, client="192.0.2.1")


async def test_a_network_that_the_user_is_known_at_has_tries_of_its_own(auth_pool: AuthPool):
    user = await person(auth_pool)
    email, home = user.email or "", "192.0.2.1"
    await auth_pool.context.run(*networks.remember(auth_pool.context.code_key, user, home))
    made = await issued(auth_pool, user, CodeKind.RECOVERY, email)
    for n in range(5):
        client = f"203.0.113.{n}"
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, wrong(made.code), client=client) is None

    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, made.code, client="203.0.113.9") is None
    assert sum([await tries_refused(auth_pool, email, 1, client=f"198.51.100.{n}") for n in range(40)]) > 0
    for _ in range(4):
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, wrong(made.code), client=home) is None
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, made.code, client=home)


async def test_five_wrong_ones_are_enough_at_a_known_network_too(auth_pool: AuthPool):
    user = await person(auth_pool)
    email, home = user.email or "", "192.0.2.1"
    await auth_pool.context.run(*networks.remember(auth_pool.context.code_key, user, home))
    made = await issued(auth_pool, user, CodeKind.RECOVERY, email)
    for _ in range(5):
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, wrong(made.code), client=home) is None

    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, made.code, client=home) is None
    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, made.code, client="203.0.113.9")


async def test_a_right_code_begins_the_count_anew(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    for _ in range(2):
        for _ in range(3):
            await issued(auth_pool, user, CodeKind.RECOVERY, email, code="500000")
            assert await tries_refused(auth_pool, email, 4) == 0
        assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "500000")


@pytest.mark.parametrize(
    ("is_phone", "lasts"), [(False, timedelta(seconds=3600)), (True, timedelta(seconds=6000))]
)
async def test_a_code_ends_with_its_time(auth_pool: AuthPool, is_phone: bool, lasts: timedelta):
    user = await person(auth_pool, phone=number())
    to, kind = (user.phone, CodeKind.CONFIRMATION) if is_phone else (user.email, CodeKind.RECOVERY)
    code = await issued(auth_pool, user, kind, to or "")

    auth_pool.clock.forward(seconds=lasts.total_seconds() - 5)
    assert await linked(auth_pool, code.link) is not None
    auth_pool.clock.forward(seconds=6)

    assert await linked(auth_pool, code.link) is None
    assert await tried(auth_pool, (kind,), to or "", code.code) is None


async def test_a_code_is_used_up_once_whoever_comes_at_the_same_time(auth_pool: AuthPool):
    user = await person(auth_pool)
    code = await issued(auth_pool, user, CodeKind.RECOVERY, user.email or "")
    token = await linked(auth_pool, code.link)
    assert token is not None

    async def used() -> bool:
        async with auth_pool.context.transaction() as transaction:
            return await one_time.take(transaction, token) is not None

    assert sorted(await asyncio.gather(*(used() for _ in range(6)))) == [False] * 5 + [True]
    assert await auth_pool.value("select recovery_token from auth.users where id = $1", user.id) == ""


async def test_a_code_that_was_replaced_after_it_was_found_is_not_taken(auth_pool: AuthPool):
    user = await person(auth_pool)
    code = await issued(auth_pool, user, CodeKind.RECOVERY, user.email or "")
    token = await linked(auth_pool, code.link)
    assert token is not None
    await issued(auth_pool, user, CodeKind.RECOVERY, user.email or "")

    async with auth_pool.context.transaction() as transaction:
        assert await one_time.take(transaction, token) is None


async def test_kinds_can_be_dropped_and_all_be_forgotten(auth_pool: AuthPool):
    user = await person(auth_pool)
    email = user.email or ""
    made = {kind: await issued(auth_pool, user, kind, email) for kind in CodeKind}

    async with auth_pool.context.transaction() as transaction:
        await one_time.drop(transaction, user.id, EMAIL_CHANGE)
    alive = {kind for kind in CodeKind if await linked(auth_pool, made[kind].link) is not None}
    async with auth_pool.context.transaction() as transaction:
        await users.forget_codes(transaction, user.id)

    assert alive == {*CodeKind} - {*EMAIL_CHANGE}
    for kind in CodeKind:
        assert await linked(auth_pool, made[kind].link) is None
        assert await auth_pool.value(f"select {kind.value} from auth.users where id = $1", user.id) == ""


async def test_several_users_may_wait_for_one_address_and_the_code_tells_which(auth_pool: AuthPool):
    first, second, email = await person(auth_pool), await person(auth_pool), address()
    one = await issued(auth_pool, first, CodeKind.EMAIL_CHANGE_NEW, email, code="111111")
    two = await issued(auth_pool, second, CodeKind.EMAIL_CHANGE_NEW, email, code="222222")

    found = [await tried(auth_pool, EMAIL_CHANGE, email, each.code) for each in (one, two)]

    assert [each.user_id for each in found if each is not None] == [first.id, second.id]


async def test_rows_made_by_hand_have_no_codes(auth_pool: AuthPool):
    id, email = uuid.uuid4(), address()
    await auth_pool.admin.execute(
        "insert into auth.users (id, aud, email, confirmation_token, recovery_token, email_change_token_new,"
        " email_change_token_current, phone_change_token, reauthentication_token)"
        " values ($1, $2, $3, null, null, null, null, null, null)",
        id, AUD, email,
    )  # fmt: skip
    await auth_pool.admin.execute(
        "insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)"
        " values (gen_random_uuid(), $1, 'recovery_token', $2, $3)",
        id, "0" * 56, email,
    )  # fmt: skip

    assert await tried(auth_pool, (CodeKind.RECOVERY,), email, "") is None
    assert await linked(auth_pool, "0" * 56) is None
    code = await issued(auth_pool, await one_time_user(auth_pool, id), CodeKind.RECOVERY, email)
    assert await linked(auth_pool, code.link) is not None


async def test_a_token_does_not_show_its_hash(auth_pool: AuthPool):
    user = await person(auth_pool)
    code = await issued(auth_pool, user, CodeKind.RECOVERY, user.email or "", is_pkce=True)
    token = await linked(auth_pool, code.link)

    assert token is not None
    assert token.is_pkce
    assert code.stored not in repr(token)
