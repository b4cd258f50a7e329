"""A post office of the tests: the mail catcher within the process, reached by SMTP, and a provider of text messages."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlsplit

from schemas.http import Response
from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import TwilioSettings as TwilioAccount
from schemas.settings.auth_delivery import TwilioVerifySettings as VerifyAccount
from schemas.settings.types import Quota
from services.mail_catcher.emails import CaughtEmail
from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.smtp import SmtpServer
from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, told
from tests.workers.auth.delivery.sms.provider import Provider, running_provider
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.sms.twilio import TwilioSender
from workers.auth.delivery.sms.twilio_verify import TwilioVerifySender
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint
from workers.auth.delivery.transport import DirectTransport, MailTransport

CONFIRMED = {"email__enable_confirmations": True, "sms__enable_confirmations": True}
"""Settings under which addresses must be confirmed."""
AT_ANY_TIME = {
    "email__max_frequency": 0.0,
    "sms__max_frequency": 0.0,
    "rate_limit__email_sent": Quota("0"),
    "rate_limit__sms_sent": Quota("0"),
}
"""Settings without a pause between two messages, and without a limit for all of them."""
SITE = "http://127.0.0.1:3000"
_LINK = re.compile(r"https?://\S+/verify\?[^\s\"'<>]+")


@dataclass
class Office:
    """What was sent by mail."""

    caught: CaughtMail
    transport: MailTransport

    def to(self, address: str) -> list[CaughtEmail]:
        """Return the emails to an address, the newest first."""
        return [each for each in self.caught.newest_first() if each.recipients == (address,)]

    def link(self, address: str) -> str:
        """Return the link of the newest email to an address."""
        found = _LINK.search(unescape(self.to(address)[0].text))
        assert found is not None
        return found[0]

    def path(self, address: str) -> str:
        """Return the newest link to an address as a request to the worker has it."""
        parts = urlsplit(self.link(address))
        return f"/verify?{parts.query}"

    def token(self, address: str) -> str:
        """Return the token of the newest link to an address."""
        return parse_qs(urlsplit(self.link(address)).query)["token"][0]

    def code(self, address: str) -> str:
        """Return the code of the newest email to an address."""
        found = re.search(r"\b\d{6,10}\b", _LINK.sub("", self.to(address)[0].text))
        assert found is not None
        return found[0]


@dataclass
class Phones:
    """What was sent by text message, through the provider's own interface."""

    provider: Provider
    sender: SmsSender
    numbers: list[str] = field(default_factory=list)

    def code(self, phone: str) -> str:
        """Return the newest code for a number."""
        bodies = [each.form["Body"] for each in self.provider.asked if each.form.get("To") == f"+{phone}"]
        found = re.search(r"\d{6,10}", bodies[-1])
        assert found is not None
        return found[0]


@asynccontextmanager
async def open_office() -> AsyncIterator[Office]:
    """Open a mail catcher, and a mailer to it."""
    caught = CaughtMail()
    server = SmtpServer(caught.add)
    await server.start("127.0.0.1", 0)
    transport = DirectTransport(Mailer(SmtpEndpoint("127.0.0.1", server.port)))
    try:
        yield Office(caught, transport)
    finally:
        await transport.close()
        server.stop()


@asynccontextmanager
async def open_phones(*, checks_codes: bool = False) -> AsyncIterator[Phones]:
    """Open a stand-in of the provider on loopback, and its sender."""
    async with running_provider() as (provider, session):
        provider.answers(201, {"sid": "SM1", "status": "pending" if checks_codes else "queued"})
        token = Secret("token")
        sender: SmsSender
        if checks_codes:
            account = VerifyAccount(
                enabled=True, account_sid="AC1", message_service_sid="VA1", auth_token=token
            )
            sender = TwilioVerifySender(account, session, base_url=provider.url)
        else:
            plain = TwilioAccount(
                enabled=True, account_sid="AC1", message_service_sid="+15550100", auth_token=token
            )
            sender = TwilioSender(plain, session, base_url=provider.url)
        yield Phones(provider, sender)


def with_office(auth_pool: AuthPool, office: Office) -> AuthPool:
    """Return a pool auth whose mails go to the office."""
    outbox = replace(auth_pool.context.outbox, transport=office.transport)
    return AuthPool(replace(auth_pool.context, outbox=outbox), auth_pool.admin, auth_pool.clock)


def with_phones(auth_pool: AuthPool, phones: Phones) -> AuthPool:
    """Return a pool auth whose text messages go to the provider."""
    outbox = replace(auth_pool.context.outbox, sms=phones.sender)
    return AuthPool(replace(auth_pool.context, outbox=outbox), auth_pool.admin, auth_pool.clock)


def landed(response: Response) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return where a browser lands: the address, the fields of its query, and those of its fragment."""
    assert response.status == 303, response
    parts = urlsplit(told(response, "location"))
    bare = parts._replace(query="", fragment="").geturl()
    return bare, dict(parse_qsl(parts.query)), dict(parse_qsl(parts.fragment, keep_blank_values=True))


async def waiting(mailed: AuthPool, **more: object) -> str:
    """Sign up, and give the address that waits for its confirmation."""
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD, **more})
    return email


async def failure(mailed: AuthPool, path: str, method: str = "GET") -> dict[str, str]:
    """Follow a link that leads home with a refusal, and give what is told of it."""
    target, _, fragment = landed(await mailed.send(method, path))
    assert target == SITE
    assert "access_token" not in fragment
    return fragment
