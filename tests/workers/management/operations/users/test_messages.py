"""Invitations, emails, codes and links of users, as administrators send them."""

import asyncio
import uuid

import pytest

from tests.workers.management.conftest import Client
from tests.workers.management.operations.users.conftest import Project

LIMIT_S = 60.0


async def _subject(project: Project, address: str) -> str:
    """Wait for the newest email to an address, and return its subject."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            emails = [email for email in project.mail.newest_first() if email.recipients == (address,)]
            if emails:
                return emails[0].subject
            await asyncio.sleep(0)


def _email() -> str:
    return f"{uuid.uuid4().hex}@example.org"


async def test_a_user_is_invited(project: Project, developer: Client) -> None:
    email = _email()

    invited = await developer.run("users.invite", email=email, data={"team": "a"})

    assert invited["user"]["user_metadata"]["team"] == "a"
    assert "invited" in (await _subject(project, email)).lower()


@pytest.mark.parametrize(
    ("message", "subject"),
    [("recovery", "reset"), ("magic_link", "sign-in link"), ("confirmation", "confirm")],
)
async def test_a_message_is_sent(project: Project, developer: Client, message: str, subject: str) -> None:
    email = _email()
    created = await developer.run("users.create", email=email, email_confirm=message != "confirmation")

    await developer.run("users.send", id=created["user"]["id"], message=message)

    assert subject in (await _subject(project, email)).lower()


async def test_a_code_goes_to_a_phone(project: Project, developer: Client) -> None:
    phone = f"4915{uuid.uuid4().int % 10**9:09}"
    created = await developer.run("users.create", phone=phone, phone_confirm=True)
    before = len(list(project.mail.newest_first()))

    await developer.run("users.send", id=created["user"]["id"], message="otp")

    async with asyncio.timeout(LIMIT_S):
        while len(list(project.mail.newest_first())) == before:
            await asyncio.sleep(0)
    assert phone in repr(next(iter(project.mail.newest_first())))


async def test_what_cannot_be_sent_says_why(developer: Client) -> None:
    by_mail = (await developer.run("users.create", email=_email(), email_confirm=True))["user"]["id"]
    phone = f"4915{uuid.uuid4().int % 10**9:09}"
    by_phone = (await developer.run("users.create", phone=phone, phone_confirm=True))["user"]["id"]

    assert await developer.refused("users.send", id=by_mail, message="otp") == (409, "no_address")
    assert await developer.refused("users.send", id=by_phone, message="recovery") == (409, "no_address")
    confirmed = await developer.refused("users.send", id=by_mail, message="confirmation")
    assert confirmed == (409, "already_confirmed")
    assert await developer.refused("users.send", id=by_mail, message="letter") == (400, "invalid_arguments")


async def test_a_link_is_made_and_signs_in(project: Project, developer: Client) -> None:
    email = _email()
    await developer.run("users.create", email=email, email_confirm=True)

    link = await developer.run("users.generate_link", type="magiclink", email=email)
    body = {"type": "magiclink", "token_hash": link["hashed_token"]}
    status, session = await project.auth("POST", "/verify", body)

    assert (status, session["user"]["id"]) == (200, link["id"])
    row = await project.admin.fetchval(
        "select row_to_json(a)::text from headwater.administrator_audit a"
        " where operation = 'users.generate_link' order by id desc limit 1"
    )
    assert link["hashed_token"] not in row
    assert link["email_otp"] not in row
    unknown = await developer.refused("users.generate_link", type="recovery", email=_email())
    assert unknown[0] in (404, 422)
