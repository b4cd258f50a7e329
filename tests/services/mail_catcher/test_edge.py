"""The catcher as a whole: ports, and both sides at work together."""

import asyncio
import base64
import smtplib

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.tree import SettingsError
from services.mail_catcher.edge import MailCatcher, MailCatcherOptions


def send(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port, timeout=60) as client:
        client.sendmail("a@example.org", ["ann@example.org"], "Subject: Code\r\n\r\n123456")


def basic(login: str) -> dict[str, str]:
    """Return the header of a name and a password."""
    return {"authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


async def test_email_sent_is_found_by_its_address(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    await asyncio.to_thread(send, catcher.smtp_port)

    async with session.get("/api/v1/search", params={"query": "addressed:ann@example.org"}) as answer:
        found = await answer.json()
    async with session.get(f"/api/v1/message/{found['messages'][0]['ID']}") as answer:
        one = await answer.json()

    assert one["Text"].strip() == "123456"
    assert one["Bcc"] == [{"Name": "", "Address": "ann@example.org"}]


@pytest.mark.parametrize("which", ["port", "smtp_port"])
async def test_port_that_is_taken_is_told(catcher: MailCatcher, which: str) -> None:
    taken = catcher.port if which == "port" else catcher.smtp_port
    options = MailCatcherOptions(
        port=taken if which == "port" else 0, smtp_port=taken if which == "smtp_port" else 0
    )

    with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{taken}: "):
        await MailCatcher(options).start()


async def test_catcher_that_is_not_local_answers_to_any_name() -> None:
    catcher = MailCatcher(MailCatcherOptions(host="0.0.0.0", port=0, smtp_port=0))
    await catcher.start()
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"http://127.0.0.1:{catcher.port}/livez", headers={"host": "mail.internal"}
            ) as answer,
        ):
            assert answer.status == 200
    finally:
        await catcher.stop()


def test_ports_are_those_of_the_official_tools() -> None:
    assert (MailCatcherOptions().host, MailCatcherOptions().port, MailCatcherOptions().smtp_port) == (
        "127.0.0.1",
        54324,
        54325,
    )
    assert (MailCatcher(MailCatcherOptions()).port, MailCatcher(MailCatcherOptions()).smtp_port) == (0, 0)


async def test_a_catcher_with_a_key_takes_and_shows_no_email_without_it() -> None:
    """Both ports: programs of other projects reach them on loopback."""
    catcher = MailCatcher(MailCatcherOptions(port=0, smtp_port=0, key=Secret("its key")))
    await catcher.start()

    def delivered(password: str) -> bool:
        client = smtplib.SMTP("127.0.0.1", catcher.smtp_port, timeout=60)
        try:
            if password:
                client.login("any", password)
            client.sendmail("a@example.org", ["ann@example.org"], "Subject: Code\r\n\r\n123456")
        except smtplib.SMTPException:
            return False
        finally:
            client.close()
        return True

    paths = (
        "/",
        "/api/v1/messages",
        "/api/v1/search?query=x",
        "/api/v1/message/latest",
        "/view/latest.txt",
        "/nothing",
    )
    refused = [{}, basic("its key:"), basic("any:another"), {"authorization": "Bearer another"}]
    try:
        assert [await asyncio.to_thread(delivered, word) for word in ("", "another", "its key")] == [
            False,
            False,
            True,
        ]
        async with aiohttp.ClientSession(f"http://127.0.0.1:{catcher.port}") as session:
            for login in refused:
                for path in paths:
                    async with session.get(path, headers=login) as answer:
                        assert (answer.status, "123456" in await answer.text()) == (401, False), path
            async with session.delete("/api/v1/messages") as answer:
                assert answer.status == 401
            bearer = {"authorization": "Bearer its key"}
            async with session.get("/view/latest.txt", headers=bearer) as answer:
                assert "123456" in await answer.text()
            async with session.get("/view/latest.txt", headers=basic("any:its key")) as answer:
                assert "123456" in await answer.text()
    finally:
        await catcher.stop()
