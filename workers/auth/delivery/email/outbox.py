"""What is sent to people: mails and text messages. The one place where a hook can take the sender's part.

Two steps, so that nothing is sent that is not kept, and nothing kept that cannot be sent:

- Within the transaction that prepares a message (`letters.py`): `refuse_...` and `count_...`, last of all.
- After it has been committed, never within one: `send` for a mail, `text` for a code by phone.

What fails is told to the log with the server's reason, and to the caller in few words.
Source: reference page "auth", sections 5.6, 18 and 21.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, cast

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.auth import Auth
from workers.auth.accounts.codes import limits
from workers.auth.accounts.users.addresses import refuse_reserved, refuse_unauthorized
from workers.auth.delivery.email.mail_hosts import MailHosts
from workers.auth.delivery.email.mails import Draft, Mail
from workers.auth.delivery.failures import Cause, DeliveryFailed
from workers.auth.delivery.hooks.points import EmailData, Point, SmsData
from workers.auth.delivery.hooks.runner import Hooks
from workers.auth.delivery.message import Sender, compose
from workers.auth.delivery.post import DirectPost, Post
from workers.auth.delivery.remote_templates import RemoteTemplates
from workers.auth.delivery.sms.sender import Channel, CodeChecker, SmsMessage, SmsSender
from workers.auth.delivery.sms.test_numbers import MESSAGE_ID, TestNumbers
from workers.auth.delivery.sms.wording import Wording
from workers.auth.delivery.templates import Facts, Kind, Templates
from workers.auth.model import rejections
from workers.auth.model.rows import User
from workers.database.interactive import Transaction
from workers.database.pool import Pool

_SETTINGS = (("search_path", "auth"),)
_RETRY_AFTER_S = 5
"""After a full disk the queue works again within ten seconds of free space."""


class MessageNotSent(Observation, frozen=True):
    """A mail or a text message was not taken by its server; `what` is the kind of mail, or `sms`."""

    level: ClassVar[str] = "warning"
    what: str
    cause: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outbox:
    """All that sends. `external_url` is where this service is reached, for links in mails."""

    own: Auth
    database: Pool
    post: Post
    templates: Templates
    remote: RemoteTemplates
    sender: Sender
    external_url: str
    sms: SmsSender | None
    wording: Wording
    mfa_wording: Wording
    tests: TestNumbers
    clock: Callable[[], float]
    hosts: MailHosts
    hooks: Hooks = field(default_factory=Hooks)
    """Services of the project that take the senders' part."""

    async def mail(self, kind: Kind, to: str, facts: Facts, user: User | None = None) -> None:
        """Send one letter. Raises: as `send`."""
        await self.send(Mail(kind, (Draft(to, facts),), user))

    async def send(self, mail: Mail) -> None:
        """Send a mail; not within a transaction.

        Raises: AuthError (429) over the quota of all mails; (400) for an address that cannot be sent to; (503) if the queue
        did not take the mail; (500) if its server did not.
        """
        if not mail.is_counted:
            async with self.database.transaction(_SETTINGS) as transaction:
                await self.count_mail(transaction, len(mail.drafts))
        if mail.user is not None and self.hooks.has(Point.SEND_EMAIL):
            data = EmailData(**mail.email_data(self.external_url))
            await self.hooks.send_email(mail.user, data, mail.client)
            return
        html = await self.remote.get(mail.kind)
        for draft in mail.drafts:
            letter = self.templates.write(mail.kind, draft.facts, html)
            try:
                message = compose(
                    letter, draft.to, self.sender, now=self._now(), unique=secrets.token_hex(16)
                )
                await self.post.post(message)
            except DeliveryFailed as error:
                observe(MessageNotSent(mail.kind.value, error.cause.value, str(error)))
                if error.cause is Cause.ADDRESS:
                    raise rejections.RESERVED_EMAIL(email=draft.to) from None
                if error.cause is Cause.QUEUE:
                    raise rejections.MAIL_NOT_KEPT(retry_after_s=_RETRY_AFTER_S, reason=error) from None
                raise rejections.MAIL_NOT_SENT(kind=mail.action_type) from None

    async def text(
        self,
        phone: str,
        code: str,
        channel: str = Channel.SMS,
        is_mfa: bool = False,
        *,
        user: User | None = None,
        client: str = "",
        is_counted: bool = False,
    ) -> str:
        """Send a code to a phone and give the provider's id of the message; not within a transaction.

        `user` and `client` are for hooks. `is_counted`: the quota of all messages has been looked at.
        Raises: AuthError (429) over the quota; (400) for a channel that is not offered; (422) if it was not sent.
        """
        if self.test_code(phone) is not None:
            return MESSAGE_ID
        way = self.refuse_unsendable(phone, channel)
        if not is_counted:
            async with self.database.transaction(_SETTINGS) as transaction:
                await self.count_text(transaction, phone)
        if user is not None and self.hooks.has(Point.SEND_SMS):
            await self.hooks.send_sms(user, SmsData(code, phone, "mfa" if is_mfa else ""), client)
            return ""
        words = (self.mfa_wording if is_mfa else self.wording).text(code)
        try:
            return await cast(SmsSender, self.sms).send(SmsMessage(phone, words, code, way))
        except DeliveryFailed as error:
            observe(MessageNotSent("sms", error.cause.value, str(error)))
            if error.cause is Cause.CHANNEL:
                raise rejections.BAD_CHANNEL() from None
            raise rejections.SMS_NOT_SENT(reason=error) from None

    # --- Before anything is written ---------------------------------------------------------------------------

    def refuse_address(self, email: str) -> None:
        """Raise if no mail may go to an address. Raises: AuthError (400)."""
        refuse_unauthorized(email, self.own.email.authorized_addresses)
        if self.own.email.validation_extended:
            refuse_reserved(email)

    async def refuse_unreachable(self, email: str) -> None:
        """Raise if no mail can reach the host of an address; not within a transaction. Raises: AuthError (400)."""
        host = email.rpartition("@")[2]
        if self.own.email.validation_extended and not await self.hosts.may_take_mail(host):
            raise rejections.RESERVED_EMAIL(email=email)

    def refuse_unsendable(self, phone: str, channel: str) -> Channel:
        """Give the channel by its name. Raises: AuthError (400) if it is not offered; (422) if there is no sender."""
        if channel not in {*Channel}:
            raise rejections.BAD_CHANNEL()
        way = Channel(channel)
        if self.test_code(phone) is not None or self.hooks.has(Point.SEND_SMS):
            return way
        if self.sms is None:
            raise rejections.NO_SMS_SENDER()
        if way not in self.sms.channels:
            raise rejections.BAD_CHANNEL()
        return way

    async def count_mail(self, transaction: Transaction, letters: int = 1) -> None:
        """Count letters among all that are sent, unless accounts are confirmed at once. Raises: AuthError (429)."""
        if self.own.email.enable_confirmations:
            quota = self.own.rate_limit.email_sent
            wait_s = await limits.count(transaction, "email_sent", quota, letters)
            if wait_s:
                raise rejections.OVER_EMAIL_QUOTA(retry_after_s=wait_s)

    async def count_text(self, transaction: Transaction, phone: str) -> None:
        """Count a message among all that are sent, as `count_mail`; those to test numbers are none."""
        if self.own.sms.enable_confirmations and self.test_code(phone) is None:
            wait_s = await limits.count(transaction, "sms_sent", self.own.rate_limit.sms_sent)
            if wait_s:
                raise rejections.OVER_SMS_QUOTA(retry_after_s=wait_s)

    # --- Codes of phones --------------------------------------------------------------------------------------

    def test_code(self, address: str) -> str | None:
        """Give the fixed code of a test number, None for all other addresses."""
        return self.tests.code_for(address, self._now())

    @property
    def checker(self) -> CodeChecker | None:
        """Give the provider if it makes the codes of phones itself, and so must be asked whether one is right."""
        makes_codes = hasattr(self.sms, "check") and not self.hooks.has(Point.SEND_SMS)
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
        """Let connections go, and what is being fetched."""
        await self.remote.close()
        if isinstance(self.post, DirectPost):
            await self.post.close()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)
