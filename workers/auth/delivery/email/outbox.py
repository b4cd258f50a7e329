"""Sends emails and text messages to users. The only place where a hook can replace the mail server or the SMS provider.

No change is committed whose message was rejected. A message with a code is sent as the last step of the transaction that
prepared it (`accounts/codes/code_messages.py`); if it cannot be sent, the account, the code and the pause are rolled back:

    async with context.sending(address) as transaction:
        mail = await code_messages.prepare_mail(context, transaction, user, ...)       # refuse_..., the code
        await context.outbox.send(mail, transaction)                                   # or `text`, for a phone

A provider of text messages or a hook may take seconds, while the transaction occupies a connection. So at most a third of the
connections send emails at a time and a third send texts (`slots`); other requests wait before they take a connection. The
quota of all messages is charged in a transaction of its own: its row is shared by all senders, who must not wait for one
another. A rejected message counts against the quota too. Notices of a change are sent after the commit, without a transaction.

A failure is logged with the server's reason; the caller gets a short error without it.
Source: docs/reference/auth.md, sections 5.6, 18 and 21.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, cast

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.auth import Auth
from schemas.settings.types import Quota
from workers.auth.delivery.email.emails import EmailDraft, OutgoingEmail
from workers.auth.delivery.email.mail_hosts import MailHosts
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.hooks.points import EmailData, HookPoint, SmsData
from workers.auth.delivery.hooks.runner import HookRunner
from workers.auth.delivery.message import MailSender, compose
from workers.auth.delivery.remote_templates import RemoteTemplates
from workers.auth.delivery.sms.sender import CodeChecker, SmsChannel, SmsMessage, SmsSender
from workers.auth.delivery.sms.test_numbers import MESSAGE_ID, TestNumbers
from workers.auth.delivery.sms.wording import Wording
from workers.auth.delivery.templates import EmailKind, EmailTemplates, TemplateValues
from workers.auth.delivery.transport import DirectTransport, MailTransport
from workers.auth.model import rate_limits, rejections
from workers.auth.model.addresses import reject_reserved, reject_unauthorized
from workers.auth.model.rows import AuthUser
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.interactive import Transaction

_SETTINGS = (("search_path", "auth"),)
_RETRY_AFTER_S = 5
"""After a full disk the queue works again within ten seconds of free space."""


class MessageNotSent(Observation, frozen=True):
    """A mail server or SMS provider did not accept a message; `what` is the kind of email, or `sms`."""

    level: ClassVar[str] = "warning"
    what: str
    cause: str
    reason: str


class SendingSlots:
    """How many transactions that send a message may be open at a time: a third of a pool's connections for each kind."""

    def __init__(self, connections: int) -> None:
        number = max(1, connections // 3)
        self._emails, self._texts = asyncio.Semaphore(number), asyncio.Semaphore(number)

    def of(self, address: str) -> asyncio.Semaphore:
        """Return the slots of emails or of texts, by what the address is."""
        return self._emails if "@" in address else self._texts


@dataclass(frozen=True, slots=True)
class MailOutbox:
    """The senders of a process, and what they need. `external_url` is the public URL of this service, for links in emails."""

    settings: Auth
    database: ConnectionPool
    transport: MailTransport
    templates: EmailTemplates
    remote: RemoteTemplates
    sender: MailSender
    external_url: str
    sms: SmsSender | None
    wording: Wording
    mfa_wording: Wording
    tests: TestNumbers
    clock: Callable[[], float]
    hosts: MailHosts
    hooks: HookRunner = field(default_factory=HookRunner)
    """Hooks of the project; two of them send messages instead of the senders."""
    slots: SendingSlots = field(default_factory=lambda: SendingSlots(1))
    """How many transactions may send messages at a time."""

    async def mail(
        self, kind: EmailKind, to: str, values: TemplateValues, user: AuthUser | None = None
    ) -> None:
        """Send one message. Raises: as `send`."""
        await self.send(OutgoingEmail(kind, (EmailDraft(to, values),), user))

    async def send(self, mail: OutgoingEmail, transaction: Transaction | None = None) -> None:
        """Send an email, as the last step of the transaction that prepared it, if there is one.

        Raises: AuthError (429) over the quota of all emails; (400) for an address that no mail can be sent to; (503) if the queue
        did not store the email; (500) if the mail server did not accept it.
        """
        await self.count_mail(len(mail.drafts))
        if mail.user is not None and self.hooks.has(HookPoint.SEND_EMAIL):
            data = EmailData(**mail.email_data(self.external_url))
            await self.hooks.send_email(mail.user, data, mail.client, transaction)
            return
        html = await self.remote.get(mail.kind)
        for draft in mail.drafts:
            rendered = self.templates.write(mail.kind, draft.values, html)
            try:
                message = compose(
                    rendered, draft.to, self.sender, now=self._now(), unique=secrets.token_hex(16)
                )
                await self.transport.deliver(message)
            except DeliveryFailed as error:
                observe(MessageNotSent(mail.kind.value, error.cause.value, str(error)))
                if error.cause is DeliveryCause.ADDRESS:
                    raise rejections.RESERVED_EMAIL(email=draft.to) from None
                if error.cause is DeliveryCause.QUEUE:
                    raise rejections.MAIL_NOT_QUEUED(retry_after_s=_RETRY_AFTER_S, reason=error) from None
                raise rejections.MAIL_NOT_SENT(kind=mail.action_type) from None

    async def text(
        self,
        phone: str,
        code: str,
        channel: str = SmsChannel.SMS,
        is_mfa: bool = False,
        *,
        user: AuthUser | None = None,
        client: str = "",
        transaction: Transaction | None = None,
    ) -> str:
        """Send a code to a phone and return the provider's id of the message.

        `user` and `client` are for hooks; `transaction` is the one that prepared the code, of which this is the last step.
        Raises: AuthError (429) over the quota; (400) for a channel that is not offered; (422) if it was not sent.
        """
        if self.test_code(phone) is not None:
            return MESSAGE_ID
        way = self.refuse_unsendable(phone, channel)
        await self.count_text(phone)
        if user is not None and self.hooks.has(HookPoint.SEND_SMS):
            sms = SmsData(code, phone, "mfa" if is_mfa else "")
            await self.hooks.send_sms(user, sms, client, transaction)
            return ""
        words = (self.mfa_wording if is_mfa else self.wording).text(code)
        try:
            return await cast(SmsSender, self.sms).send(SmsMessage(phone, words, code, way))
        except DeliveryFailed as error:
            observe(MessageNotSent("sms", error.cause.value, str(error)))
            if error.cause is DeliveryCause.CHANNEL:
                raise rejections.BAD_CHANNEL() from None
            raise rejections.SMS_NOT_SENT(reason=error) from None

    # --- Before anything is written ---------------------------------------------------------------------------

    def refuse_address(self, email: str) -> None:
        """Raise if no mail may go to an address. Raises: AuthError (400)."""
        reject_unauthorized(email, self.settings.email.authorized_addresses)
        if self.settings.email.validation_extended:
            reject_reserved(email)

    async def refuse_unreachable(self, email: str) -> None:
        """Raise if no mail can reach the host of an address; not within a transaction. Raises: AuthError (400)."""
        host = email.rpartition("@")[2]
        if self.settings.email.validation_extended and not await self.hosts.may_take_mail(host):
            raise rejections.RESERVED_EMAIL(email=email)

    def refuse_unsendable(self, phone: str, channel: str) -> SmsChannel:
        """Return the channel by its name. Raises: AuthError (400) if it is not offered; (422) without an SMS sender."""
        if channel not in {*SmsChannel}:
            raise rejections.BAD_CHANNEL()
        way = SmsChannel(channel)
        if self.test_code(phone) is not None or self.hooks.has(HookPoint.SEND_SMS):
            return way
        if self.sms is None:
            raise rejections.NO_SMS_SENDER()
        if way not in self.sms.channels:
            raise rejections.BAD_CHANNEL()
        return way

    async def count_mail(self, number: int = 1) -> None:
        """Charge the quota of emails. The quota applies only with confirmations. Raises: AuthError (429)."""
        if self.settings.email.enable_confirmations:
            wait_s = await self._charge("email_sent", self.settings.rate_limit.email_sent, number)
            if wait_s:
                raise rejections.OVER_EMAIL_QUOTA(retry_after_s=wait_s)

    async def count_text(self, phone: str) -> None:
        """Charge the quota of text messages, as `count_mail`. Test numbers are free."""
        if self.settings.sms.enable_confirmations and self.test_code(phone) is None:
            wait_s = await self._charge("sms_sent", self.settings.rate_limit.sms_sent, 1)
            if wait_s:
                raise rejections.OVER_SMS_QUOTA(retry_after_s=wait_s)

    async def _charge(self, name: str, quota: Quota, number: int) -> int:
        """Count messages in a transaction of its own, so that no sender waits for another; return the seconds to wait, or 0."""
        if quota.most <= 0:
            return 0
        async with self.database.transaction(_SETTINGS) as transaction:
            return await rate_limits.count(transaction, name, quota, number)

    # --- Codes of phones --------------------------------------------------------------------------------------

    def test_code(self, address: str) -> str | None:
        """Return the fixed code of a test number, None for all other addresses."""
        return self.tests.code_for(address, self._now())

    @property
    def checker(self) -> CodeChecker | None:
        """Return the provider if it draws and checks the codes of phones itself."""
        makes_codes = hasattr(self.sms, "check") and not self.hooks.has(HookPoint.SEND_SMS)
        return cast(CodeChecker, self.sms) if makes_codes else None

    async def is_right(self, phone: str, code: str) -> bool:
        """Ask the provider whether a code is right. Raises: AuthError (422) if it does not answer."""
        if self.checker is None:
            return False
        try:
            return await self.checker.check(phone, code)
        except DeliveryFailed as error:
            observe(MessageNotSent("sms", error.cause.value, str(error)))
            raise rejections.SMS_NOT_CHECKED(reason=error) from None

    async def close(self) -> None:
        """Close the connection to the mail server and cancel the fetches of templates."""
        await self.remote.close()
        if isinstance(self.transport, DirectTransport):
            await self.transport.close()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)
