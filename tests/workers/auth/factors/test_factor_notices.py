"""Mails that tell of a change of second factors. Reference, section 18.3."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from schemas.settings.auth_delivery import Smtp
from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.smtp import SmtpServer
from tests.workers.auth.auth_pool import ADMIN, AuthPool
from tests.workers.auth.second_factors import OPEN_FACTORS, settle, with_app
from workers.auth.delivery.transport import transport_of

TOLD = {
    "email__notification__mfa_factor_enrolled__enabled": True,
    "email__notification__mfa_factor_unenrolled__enabled": True,
}


@pytest.fixture
async def caught() -> AsyncIterator[tuple[CaughtMail, int]]:
    """A mail server, and its port."""
    mail = CaughtMail()
    server = SmtpServer(mail.add)
    await server.start("127.0.0.1", 0)
    yield mail, server.port
    server.stop()


def at(plain: AuthPool, port: int, **more: object) -> AuthPool:
    """Return a worker that hands its mails to a server on this machine."""
    auth_pool = settle(plain.having(**OPEN_FACTORS, **more))
    post = transport_of(Smtp(host="127.0.0.1", port=port, admin_email="shop@example.org"))
    context = auth_pool.context
    made = replace(context, outbox=replace(context.outbox, transport=post))
    return AuthPool(made, auth_pool.admin, auth_pool.clock)


def told(mail: CaughtMail) -> list[tuple[list[str], str]]:
    """Return to whom emails went, and their subjects, oldest first."""
    return [([each.address for each in email.to], email.subject) for email in reversed(mail.newest_first())]


async def test_a_user_is_told_of_factors_that_come_and_go(plain: AuthPool, caught: tuple[CaughtMail, int]):
    mail, port = caught
    auth_pool = at(plain, port, **TOLD)
    high, app = await with_app(auth_pool)
    await auth_pool.ok("POST", "/factors/recovery-codes", {}, high.caller)
    await auth_pool.ok("DELETE", "/factors/recovery-codes", None, high.caller)
    await auth_pool.ok("DELETE", f"/admin/users/{high.id}/factors/{app.id}", None, ADMIN)
    await auth_pool.context.outbox.close()

    came, went = "A second factor was added to your account", "A second factor was removed from your account"
    assert told(mail) == [([high.email], each) for each in (came, came, went, went)]
    newest = mail.newest_first()[0]
    assert "an authenticator app" in newest.text


async def test_nobody_is_told_where_the_project_does_not_want_it(
    plain: AuthPool, caught: tuple[CaughtMail, int]
):
    mail, port = caught
    auth_pool = at(plain, port)
    high, app = await with_app(auth_pool)

    await auth_pool.ok("DELETE", f"/factors/{app.id}", None, high.caller)

    assert told(mail) == []


async def test_a_factor_is_changed_although_the_mail_cannot_be_sent(plain: AuthPool):
    auth_pool = settle(plain.having(**OPEN_FACTORS, **TOLD))

    high, app = await with_app(auth_pool)

    assert await auth_pool.ok("DELETE", f"/factors/{app.id}", None, high.caller) == {"id": app.id}
