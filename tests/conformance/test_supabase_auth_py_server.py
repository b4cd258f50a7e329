"""The official Python client, in both of its forms, in the hands of a server: invitations, links, clients of OAuth."""

from typing import Any

import pytest
from supabase_auth.types import PageParams

from tests.conformance.auth_callers import NOT_ADMIN, PASSWORD, People, address, admin_of, done, refusal
from tests.conformance.auth_post import email_to, land
from tests.conformance.confirming import SITE

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

REDIRECT = "https://app.example/callback"


async def enter(people: People, fragment: dict[str, str]) -> Any:
    auth = await people.auth()
    return await done(auth.set_session(fragment["access_token"], fragment["refresh_token"]))


async def test_an_invited_person_enters_by_the_link(new_users: People) -> None:
    admin, email = await admin_of(new_users), address("invited")
    made = await done(
        admin.invite_user_by_email(email, {"data": {"team": "red"}, "redirect_to": f"{SITE}/join"})
    )
    message = await email_to(new_users.platform, email)

    landed = land(message.link)

    assert made.user.invited_at is not None
    assert made.user.user_metadata == {"team": "red"}
    assert (landed.target, landed.fragment["type"]) == (f"{SITE}/join", "invite")
    assert (await enter(new_users, landed.fragment)).user.id == made.user.id
    again = await refusal(admin.invite_user_by_email, email)
    assert (again["status"], again["code"]) == (422, "email_exists")


@pytest.mark.parametrize("type", ["signup", "invite", "magiclink", "recovery"])
async def test_a_server_makes_a_link_itself(new_users: People, type: str) -> None:
    admin = await admin_of(new_users)
    email = address() if type in ("signup", "invite") else (await new_users.member()).email
    asked = {"type": type, "email": email, "password": PASSWORD, "options": {"redirect_to": f"{SITE}/in"}}

    made, other = [await done(admin.generate_link(asked)) for _ in range(2)]

    assert (made.user.email, made.properties.verification_type) == (email, type)
    assert made.user.id == other.user.id
    verified = await done(
        (await new_users.auth()).verify_otp(
            {"email": email, "token": other.properties.email_otp, "type": type}
        )
    )
    assert verified.user.id == made.user.id
    landed = land(made.properties.action_link)
    assert landed.fragment["error_code"] == "otp_expired"


async def test_the_links_of_a_change_of_address(new_users: People) -> None:
    admin, one, after = await admin_of(new_users), await new_users.member(), address("next")
    asked = {"email": one.email, "new_email": after, "options": {"redirect_to": f"{SITE}/in"}}
    current, new = [
        await done(admin.generate_link({"type": f"email_change_{which}", **asked}))
        for which in ("current", "new")
    ]

    first, second = land(current.properties.action_link), land(new.properties.action_link)

    assert first.fragment["message"].startswith("Confirmation link accepted")
    assert (await enter(new_users, second.fragment)).user.email == after


async def test_clients_of_oauth_are_made_read_changed_and_removed(new_users: People) -> None:
    oauth = (await admin_of(new_users)).oauth
    made = (
        await done(oauth.create_client({"client_name": "An application", "redirect_uris": [REDIRECT]}))
    ).client
    id = made.client_id

    read = (await done(oauth.get_client(id))).client
    changed = (await done(oauth.update_client(id, {"client_name": "Another"}))).client
    renewed = (await done(oauth.regenerate_client_secret(id))).client
    first = await done(oauth.list_clients(PageParams(page=1, per_page=1)))
    everything = await done(oauth.list_clients())
    await done(oauth.delete_client(id))
    gone = await refusal(oauth.get_client, id)

    assert (read.client_name, read.redirect_uris, read.client_secret) == ("An application", [REDIRECT], None)
    assert changed.client_name == "Another"
    assert renewed.client_secret != made.client_secret
    assert len(first.clients) == 1
    assert first.total == everything.total >= 1
    assert id in {each.client_id for each in everything.clients}
    assert (gone["status"], gone["code"]) == (404, "oauth_client_not_found")
    visitor = await new_users.auth()
    assert await refusal(visitor.admin.oauth.list_clients) == NOT_ADMIN
