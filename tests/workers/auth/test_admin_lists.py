import json
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, address, number, told
from workers.auth.accounts.users.user_lists import cursor_of, read_cursor


async def made(auth_pool: AuthPool, **body: object) -> dict[str, object]:
    user: dict[str, object] = await auth_pool.ok("POST", "/admin/users", {"email": address(), **body}, ADMIN)
    return user


async def listed(auth_pool: AuthPool, **query: object) -> dict[str, object]:
    found: dict[str, object] = await auth_pool.ok("GET", f"/admin/users?{urlencode(query)}", caller=ADMIN)
    return found


def ids(body: dict[str, object]) -> list[object]:
    return [user["id"] for user in body["users"]]  # type: ignore[attr-defined]  # a list of objects


async def test_a_page_has_its_headers(auth_pool: AuthPool):
    mark = uuid4().hex
    users = [await made(auth_pool, email=f"{mark}-{n}@example.org") for n in range(5)]

    response = await auth_pool.send("GET", f"/admin/users?filter={mark}&page=2&per_page=2", caller=ADMIN)
    body = json.loads(response.body)

    assert ids(body) == [users[2]["id"], users[1]["id"]]
    assert body["aud"] == "authenticated"
    assert told(response, "x-total-count") == "5"
    assert told(response, "link") == (
        f'</admin/users?page=3&per_page=2&filter={mark}>; rel="next", '
        f'</admin/users?page=3&per_page=2&filter={mark}>; rel="last"'
    )


async def test_the_last_page_names_no_next_one(auth_pool: AuthPool):
    user = await made(auth_pool)

    response = await auth_pool.send("GET", f"/admin/users?filter={user['email']}", caller=ADMIN)

    assert "next" not in told(response, "link")


async def test_users_are_found_by_a_part_of_their_name(auth_pool: AuthPool):
    mark = uuid4().hex
    user = await made(auth_pool, user_metadata={"full_name": f"Ann {mark} Lee"})

    assert ids(await listed(auth_pool, filter=mark.upper())) == [user["id"]]


@pytest.mark.parametrize("sort", ["created_at asc", "created_at desc"])
async def test_pages_are_sorted(auth_pool: AuthPool, sort: str):
    mark = uuid4().hex
    users = [await made(auth_pool, email=f"{mark}-{n}@example.org") for n in range(3)]
    order = [user["id"] for user in users]

    expected = order if sort.endswith("asc") else order[::-1]
    assert ids(await listed(auth_pool, filter=mark, sort=sort)) == expected


async def test_one_user_is_found_by_exact_address_number_or_id(auth_pool: AuthPool):
    phone, email = number(), address()
    user = await made(auth_pool, email=email, phone=phone)

    for query in ({"email": email.upper()}, {"phone": f"+{phone}"}, {"id": user["id"]}):
        assert ids(await listed(auth_pool, **query)) == [user["id"]]  # type: ignore[arg-type]  # texts
    for query in ({"email": email[:-1]}, {"phone": phone[:-1]}, {"id": uuid4()}):
        assert ids(await listed(auth_pool, **query)) == []


async def test_exact_look_ups_use_an_index(auth_pool: AuthPool):
    plans = [
        str(
            await auth_pool.admin.fetch(
                f"explain select * from auth.users where {where} and deleted_at is null"
            )
        )
        for where in ("lower(email) = lower('a@b.c')", "phone = '1'", "id = gen_random_uuid()")
    ]
    await auth_pool.admin.execute("set enable_seqscan = off")
    try:
        plans = [
            str(
                await auth_pool.admin.fetch(
                    f"explain select * from auth.users where {where} and deleted_at is null"
                )
            )
            for where in ("lower(email) = lower('a@b.c')", "phone = '1'")
        ]
    finally:
        await auth_pool.admin.execute("reset enable_seqscan")

    assert all("Index" in plan for plan in plans)


async def test_a_cursor_gives_everybody_once_though_others_come(auth_pool: AuthPool):
    before = {(await made(auth_pool))["id"] for _ in range(5)}
    untimed = [(await made(auth_pool))["id"] for _ in range(3)]
    await auth_pool.admin.execute(
        "update auth.users set created_at = null where id = any ($1::uuid[])", untimed
    )
    seen: list[object] = []
    cursor = ""
    while True:
        body = await listed(auth_pool, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += ids(body)
        pagination = body["pagination"]
        assert isinstance(pagination, dict)
        if not pagination["has_more"]:
            assert pagination["next_cursor"] is None
            break
        cursor = pagination["next_cursor"]
        await made(auth_pool) if len(seen) < 4 else None

    assert len(seen) == len(set(seen))
    assert before | set(untimed) <= set(seen)


async def test_a_part_of_the_list_names_the_next_one(auth_pool: AuthPool):
    for _ in range(3):
        await made(auth_pool)

    response = await auth_pool.send("GET", "/admin/users?limit=1", caller=ADMIN)
    address, _, relation = told(response, "link").partition("; ")
    following = await auth_pool.ok("GET", address.strip("<>"), caller=ADMIN)
    last = await auth_pool.send("GET", "/admin/users?limit=1000", caller=ADMIN)

    assert relation == 'rel="next"'
    assert len(following["users"]) == 1
    assert ids(following) != ids(json.loads(response.body))
    assert (told(last, "link") == "") is not json.loads(last.body)["pagination"]["has_more"]


async def test_a_page_wins_over_a_cursor(auth_pool: AuthPool):
    assert "pagination" not in await listed(auth_pool, page=1, limit=2)


@pytest.mark.parametrize(
    "query",
    ["page=-1", "page=0", "page=x", "per_page=0", "limit=0", "limit=x", "cursor=x", "cursor=%00", "sort=email", "id=x",
     "page=99999999999", "limit=1&cursor=WyJ4IiwieSJd"],
)  # fmt: skip
async def test_wrong_values_are_refused(auth_pool: AuthPool, query: str):
    assert (await auth_pool.refused("GET", f"/admin/users?{query}", caller=ADMIN))[:2] == (
        400,
        "validation_failed",
    )


def test_the_beginning_is_before_everybody():
    assert read_cursor("").id == UUID(int=0)


async def test_a_cursor_can_be_read_again(auth_pool: AuthPool):
    from datetime import UTC, datetime

    from workers.auth.model.rows import AuthUser

    user = AuthUser(uuid4(), created_at=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC))

    place = read_cursor(cursor_of(user))

    assert (place.created_at, place.id) == ("2026-01-02T03:04:05.678901+00:00", user.id)


async def test_only_administrators_list(auth_pool: AuthPool):
    one = await auth_pool.sign_up()

    assert (await auth_pool.refused("GET", "/admin/users", caller=one.caller))[:2] == (403, "not_admin")
    assert (await auth_pool.refused("GET", "/admin/users"))[0] == 401
