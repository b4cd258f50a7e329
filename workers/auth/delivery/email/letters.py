"""Messages with codes, prepared: how often, to whom, in which words. Each function runs in the caller's transaction.

    async with accounts.transaction() as transaction:
        mail = await letters.prepare_mail(accounts, transaction, user, letters.RECOVERY, target, challenge, client)
    await accounts.outbox.send(mail)                       # once it is kept

    async with accounts.transaction() as transaction:
        text = await letters.prepare_text(accounts, transaction, user, Kind.PHONE_CHANGE, phone, channel, client)
    message_id = await text.send(accounts)

All of them lock the user, keep the pause between two messages, make the code (and the flow, where the request carries a
code challenge), and count against the quota of all; the caller learns of a refusal before anything is kept.

Where anybody may ask for a message to any address (`/recover`, `/otp`, `/signup`, `/resend`), the pause is kept for what was
asked and the address that was typed (`pace`), before anybody looks whose it is; and what is not sent counts against the quota
as well (`pretend`). So a 429 says nothing about whether an address is known. A change of
e-mail address is prepared by `address_changes.py`. Source: reference page "auth", sections 5.1, 5.6 and 21.
"""

import hmac
from dataclasses import dataclass, field
from datetime import timedelta

from workers.auth.accounts.codes import limits, one_time
from workers.auth.accounts.codes.codes import wait_s
from workers.auth.accounts.codes.one_time import Kind
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import users
from workers.auth.context import Accounts
from workers.auth.delivery import templates
from workers.auth.delivery.email.mails import Mail, code_draft
from workers.auth.flows import flow_state
from workers.auth.flows.flow_state import NewFlow
from workers.auth.flows.pkce import Challenge
from workers.auth.model import rejections
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a mail with a code is for: its template, its code, and how a PKCE flow names the way in."""

    template: templates.Kind
    kind: Kind
    method: Method


SIGNUP = Purpose(templates.Kind.CONFIRMATION, Kind.CONFIRMATION, Method.EMAIL_SIGNUP)
INVITE = Purpose(templates.Kind.INVITE, Kind.CONFIRMATION, Method.INVITE)
MAGIC_LINK = Purpose(templates.Kind.MAGIC_LINK, Kind.RECOVERY, Method.MAGICLINK)
RECOVERY = Purpose(templates.Kind.RECOVERY, Kind.RECOVERY, Method.RECOVERY)
REAUTHENTICATION = Purpose(templates.Kind.REAUTHENTICATION, Kind.REAUTHENTICATION, Method.OTP)


@dataclass(frozen=True, slots=True)
class Text:
    """A code for a phone, ready to be sent."""

    phone: str
    channel: str
    user: User
    client: str
    code: str = field(repr=False)

    async def send(self, accounts: Accounts) -> str:
        """Send it and give the provider's id of the message. Raises: AuthError."""
        return await accounts.outbox.text(
            self.phone, self.code, self.channel, user=self.user, client=self.client, is_counted=True
        )


async def prepare_mail(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    purpose: Purpose,
    redirect_to: str,
    challenge: Challenge | None = None,
    client: str = "",
    *,
    is_paced: bool = False,
) -> Mail:
    """Prepare a mail with a code to a user's address. `is_paced`: `pace` has kept the pause.

    Raises: AuthError (429, 400).
    """
    outbox, own, email = accounts.outbox, accounts.settings, (user.email or "").lower()
    outbox.refuse_address(email)
    if purpose is INVITE or is_paced:  # admins need no pause
        await users.lock(transaction, user.id)
    else:
        await refuse_too_soon(accounts, transaction, user, purpose.kind, email)
    code = await one_time.issue(
        transaction,
        accounts.code_key,
        user.id,
        purpose.kind,
        email,
        now=accounts.now(),
        length=own.email.otp_length,
        is_pkce=challenge is not None,
    )
    if challenge is not None:
        await begin_flow(transaction, user, purpose.method, challenge)
    await outbox.count_mail(transaction)
    draft = code_draft(own, outbox.external_url, purpose.template, user, email, code, redirect_to)
    return Mail(purpose.template, (draft,), user, client, is_counted=True)


async def prepare_text(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    kind: Kind,
    phone: str,
    channel: str = "sms",
    client: str = "",
    *,
    is_paced: bool = False,
) -> Text:
    """Prepare a code for a phone. `is_paced`: `pace` has kept the pause. Raises: AuthError (429, 400, 422)."""
    outbox = accounts.outbox
    outbox.refuse_unsendable(phone, channel)
    if is_paced:
        await users.lock(transaction, user.id)
    else:
        await refuse_too_soon(accounts, transaction, user, kind, phone)
    made = await one_time.issue(
        transaction,
        accounts.code_key,
        user.id,
        kind,
        phone,
        now=accounts.now(),
        length=accounts.settings.sms.otp_length,
        code=outbox.test_code(phone) or "",
    )
    await outbox.count_text(transaction, phone)
    return Text(phone, channel, user, client, made.code)


async def begin_flow(transaction: Transaction, user: User, method: Method, challenge: Challenge) -> None:
    """Begin the PKCE flow that a link will complete."""
    await flow_state.begin(transaction, NewFlow("email", method.value, challenge, user.id))


async def refuse_too_soon(
    accounts: Accounts, transaction: Transaction, user: User, kind: Kind, address: str
) -> None:
    """Lock a user and raise if a code of a kind was sent a moment ago. Raises: AuthError (429) with the seconds."""
    await users.lock(transaction, user.id)
    current = await users.find_by_id(transaction, user.id) or user
    pause = timedelta(seconds=_pause_s(accounts, address))
    _refuse(address, wait_s(one_time.sent_at(current, kind), accounts.now(), pause))


async def pace(accounts: Accounts, transaction: Transaction, what: str, address: str, aud: str) -> None:
    """Keep the pause between two requests of a kind (`recover`, `otp`, `signup`...) for an address, whoever has it, or nobody.

    Raises: AuthError (429) with the seconds.
    """
    pause_s = _pause_s(accounts, address)
    if pause_s <= 0:
        return
    told = f"asked {what} {aud} {address}".encode(errors="surrogatepass")
    name = f"asked:{hmac.digest(accounts.code_key, told, 'sha256').hex()[:40]}"
    _refuse(address, await limits.pause(transaction, name, accounts.now(), pause_s))


async def pretend(accounts: Accounts, transaction: Transaction, address: str) -> None:
    """Count a message that is not sent as one that is, so that nobody learns from the quota whether an address is known.

    Raises: AuthError (429).
    """
    if "@" in address:
        await accounts.outbox.count_mail(transaction)
    else:
        await accounts.outbox.count_text(transaction, address)


def _pause_s(accounts: Accounts, address: str) -> float:
    own = accounts.settings
    return float(own.email.max_frequency if "@" in address else own.sms.max_frequency)


def _refuse(address: str, seconds: int) -> None:
    if seconds:
        refusal = rejections.EMAIL_TOO_SOON if "@" in address else rejections.SMS_TOO_SOON
        raise refusal(seconds=seconds, retry_after_s=seconds)
