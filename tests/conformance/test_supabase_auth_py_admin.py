"""The official Python client on the accounts, in both of its forms: admin, a project's policies and triggers."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from postgrest import APIError

from tests.conformance.auth_callers import (
    INVALID,
    PASSWORD,
    People,
    address,
    admin_of,
    done,
    refusal,
    refused,
)

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

UNKNOWN = refused(404, "user_not_found", "User not found")


async def sign_up_with(persons: People, **data: object) -> dict[str, Any]:
    auth = (await persons.visitor()).client.auth
    return await refusal(auth.sign_up, {"email": address(), "password": PASSWORD, "options": {"data": data}})


# --- Admin -------------------------------------------------------------------------------------------------------


async def test_a_server_makes_reads_changes_and_bans_a_user(persons: People) -> None:
    admin, email = await admin_of(persons), address()
    made = await done(
        admin.create_user(
            {
                "email": email,
                "password": PASSWORD,
                "email_confirm": True,
                "user_metadata": {"name": "Ada"},
                "app_metadata": {"team": "red"},
            }
        )
    )
    id = made.user.id
    read = await done(admin.get_user_by_id(id))
    one = await persons.signed_in(email)

    change = {"user_metadata": {"city": "London"}, "role": "supporter", "ban_duration": "1h"}
    changed = (await done(admin.update_user_by_id(id, change))).user
    banned = [
        await refusal(one.auth.refresh_session),
        await refusal(one.auth.get_user),
        await refusal(one.auth.sign_in_with_password, {"email": email, "password": PASSWORD}),
    ]
    await done(admin.update_user_by_id(id, {"ban_duration": "none"}))

    assert read.user == made.user
    assert made.user.app_metadata == {"provider": "email", "providers": ["email"], "team": "red"}
    assert changed.user_metadata == {"name": "Ada", "city": "London", "email_verified": True}
    assert changed.role == "supporter"
    assert [(each["status"], each["code"]) for each in banned] == [
        (400, "user_banned"),
        (403, "user_banned"),
        (400, "user_banned"),
    ]
    assert await persons.is_alive(one)


async def test_users_are_listed_in_pages(persons: People) -> None:
    admin = await admin_of(persons)
    newest = [(await persons.signed_up()).user.id for _ in range(3)][::-1]

    first, second = [await done(admin.list_users(page=page, per_page=2)) for page in (1, 2)]
    everybody = await done(admin.list_users(per_page=1000))

    assert [each.id for each in (*first, *second)][:3] == newest
    assert {each.id for each in everybody} >= set(newest)
    assert await done(admin.list_users(page=1000, per_page=1000)) == []


@pytest.mark.parametrize("softly", [False, True])
async def test_a_deleted_user_is_gone_and_a_softly_deleted_one_leaves_a_row(
    persons: People, softly: bool
) -> None:
    admin, one = await admin_of(persons), await persons.signed_up({"name": "Ada"})

    await done(admin.delete_user(one.user.id, should_soft_delete=softly))

    if softly:
        left = (await done(admin.get_user_by_id(one.user.id))).user
        assert left.email != one.email
        assert left.user_metadata == {}
    else:
        assert await refusal(admin.get_user_by_id, one.user.id) == UNKNOWN
    assert not await persons.is_alive(one)
    assert (
        await refusal(one.auth.sign_in_with_password, {"email": one.email, "password": PASSWORD}) == INVALID
    )
    assert one.user.id not in {each.id for each in await done(admin.list_users(per_page=1000))}


# --- What a project builds on the accounts -----------------------------------------------------------------------


async def test_two_people_write_in_one_table_and_never_see_each_other(persons: People) -> None:
    ada, bob = await persons.signed_up(), await persons.signed_up()
    hers, his = ada.caller, bob.caller
    await hers.run(hers.table("diaries").insert({"entry": "hers"}))
    await his.run(his.table("diaries").insert({"entry": "his"}))

    seen = [await each.rows(each.table("diaries").select("owner, entry")) for each in (hers, his)]
    touched = await his.rows(his.table("diaries").update({"entry": "mine"}).eq("owner", ada.user.id))
    forged = await his.refusal(his.table("diaries").insert({"entry": "forged", "owner": ada.user.id}))
    me = await hers.rows(hers.rpc("whoami"))

    assert seen == [[{"owner": ada.user.id, "entry": "hers"}], [{"owner": bob.user.id, "entry": "his"}]]
    assert touched == []
    assert forged.code == "42501"
    assert (me["uid"], me["email"], me["role"]) == (ada.user.id, ada.email, "authenticated")


async def test_the_session_in_the_client_decides_who_asks(persons: People) -> None:
    one = await persons.signed_up()
    await one.caller.run(one.caller.table("diaries").insert({"entry": "before"}))
    diary = [{"entry": "before"}]

    seen = [await one.caller.rows(one.caller.table("diaries").select("entry"))]
    await done(one.auth.sign_out())
    seen.append(await one.caller.rows(one.caller.table("diaries").select("entry")))
    with pytest.raises(APIError):
        await one.caller.run(one.caller.table("diaries").insert({"entry": "nobody's"}))
    await done(one.auth.sign_in_with_password({"email": one.email, "password": PASSWORD}))
    seen.append(await one.caller.rows(one.caller.table("diaries").select("entry")))

    assert seen == [diary, [], diary]


async def test_triggers_on_sign_up_make_a_profile_and_refuse_in_their_own_words(persons: People) -> None:
    handle = address("handle")
    one = await persons.signed_up({"handle": handle})
    raised, chosen, twice = [
        await sign_up_with(persons, **data)
        for data in ({"wish": "raise"}, {"wish": "status"}, {"handle": handle})
    ]

    profiles = await one.caller.rows(one.caller.table("profiles").select("handle").eq("id", one.user.id))

    assert profiles == [{"handle": handle}]
    assert raised == refused(500, "P0001", "the valley is full")
    assert chosen == refused(403, "PT403", "members only")
    assert twice == refused(
        500, "23505", 'duplicate key value violates unique constraint "profiles_handle_key"'
    )


async def test_a_sign_in_with_a_provider_gives_the_address_to_go_to(persons: People) -> None:
    auth = (await persons.visitor()).client.auth

    answer = await done(
        auth.sign_in_with_oauth(
            {"provider": "github", "options": {"redirect_to": "http://localhost/x", "scopes": "a b"}}
        )
    )

    target = urlsplit(answer.url)
    query = parse_qs(target.query)
    assert f"{target.scheme}://{target.netloc}{target.path}" == f"{persons.platform.url}/auth/v1/authorize"
    assert [query[name] for name in ("provider", "redirect_to", "scopes")] == [
        ["github"],
        ["http://localhost/x"],
        ["a b"],
    ]
