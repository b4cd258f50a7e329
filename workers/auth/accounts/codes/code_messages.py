"""Messages with one-time codes, prepared and sent in the caller's transaction: rate limits, recipient, code and text.

    async with context.sending(email) as transaction:
        mail = await prepare_mail(context, transaction, user, RECOVERY, target, challenge, client)
        await send_message(context, transaction, mail)     # the last step

    async with context.sending(phone) as transaction:
        text = await prepare_text(context, transaction, user, CodeKind.PHONE_CHANGE, phone, channel, client)
        message_id = await send_message(context, transaction, text)

Both lock the user, enforce the pause between two messages and create the code (and the flow, if the request carries a code
challenge). A violated limit or a message that cannot be sent raises before anything is committed: then there is no new
account, no new code, and no pause to wait for (`delivery/email/outbox.py`).

User enumeration: any client may request a message to any address (`/recover`, `/otp`, `/signup`, `/resend`). There the pause
is enforced for the requested kind and typed address (`enforce_pause`, `may_repeat`), before the user is looked up, and a
message that is not sent counts against the quota as well (`count_unsent`). A 429 therefore does not reveal whether an address
is registered.
`flows/address_changes.py` prepares changes of an email address. Source: docs/reference/auth.md, sections 5.1, 5.6 and 21.
"""

import hmac
from dataclasses import dataclass, field
from datetime import timedelta

from workers.auth.accounts import flow_state
from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.flow_state import NewFlowState
from workers.auth.accounts.users import users
from workers.auth.delivery import templates
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.email.emails import OutgoingEmail, code_draft
from workers.auth.model import rate_limits, rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.codes import wait_s
from workers.auth.model.pkce import CodeChallenge
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


@dataclass(frozen=True, slots=True)
class CodePurpose:
    """What an email with a code is for: its template, the kind of its code, and the method that a PKCE flow records."""

    template: templates.EmailKind
    kind: CodeKind
    method: SignInMethod


SIGNUP = CodePurpose(templates.EmailKind.CONFIRMATION, CodeKind.CONFIRMATION, SignInMethod.EMAIL_SIGNUP)
INVITE = CodePurpose(templates.EmailKind.INVITE, CodeKind.CONFIRMATION, SignInMethod.INVITE)
MAGIC_LINK = CodePurpose(templates.EmailKind.MAGIC_LINK, CodeKind.RECOVERY, SignInMethod.MAGICLINK)
RECOVERY = CodePurpose(templates.EmailKind.RECOVERY, CodeKind.RECOVERY, SignInMethod.RECOVERY)
REAUTHENTICATION = CodePurpose(
    templates.EmailKind.REAUTHENTICATION, CodeKind.REAUTHENTICATION, SignInMethod.OTP
)


@dataclass(frozen=True, slots=True)
class CodeText:
    """A code for a phone, ready to be sent."""

    phone: str
    channel: str
    user: AuthUser
    client: str
    code: str = field(repr=False)

    async def send(self, context: DeliveryContext, transaction: Transaction) -> str:
        """Send the message and return the provider's id of it. Raises: AuthError."""
        return await context.outbox.text(
            self.phone, self.code, self.channel, user=self.user, client=self.client, transaction=transaction
        )


async def prepare_mail(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    purpose: CodePurpose,
    redirect_to: str,
    challenge: CodeChallenge | None = None,
    client: str = "",
    *,
    is_paced: bool = False,
) -> OutgoingEmail:
    """Prepare an email with a code to a user's address. `is_paced`: `enforce_pause` was called before.

    Raises: AuthError (429, 400).
    """
    outbox, settings, email = context.outbox, context.settings, (user.email or "").lower()
    outbox.refuse_address(email)
    if purpose is INVITE or is_paced:  # administrators are not limited
        await users.lock(transaction, user.id)
    else:
        await reject_too_soon(context, transaction, user, purpose.kind, email)
    code = await one_time.issue(
        transaction,
        context.code_key,
        user.id,
        purpose.kind,
        email,
        now=context.now(),
        length=settings.email.otp_length,
        is_pkce=challenge is not None,
    )
    if challenge is not None:
        await begin_flow(transaction, user, purpose.method, challenge)
    draft = code_draft(settings, outbox.external_url, purpose.template, user, email, code, redirect_to)
    return OutgoingEmail(purpose.template, (draft,), user, client)


async def prepare_text(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    kind: CodeKind,
    phone: str,
    channel: str = "sms",
    client: str = "",
    *,
    is_paced: bool = False,
) -> CodeText:
    """Prepare a code for a phone. `is_paced`: `enforce_pause` was called before. Raises: AuthError (429, 400, 422)."""
    outbox = context.outbox
    outbox.refuse_unsendable(phone, channel)
    if is_paced:
        await users.lock(transaction, user.id)
    else:
        await reject_too_soon(context, transaction, user, kind, phone)
    code = await one_time.issue(
        transaction,
        context.code_key,
        user.id,
        kind,
        phone,
        now=context.now(),
        length=context.settings.sms.otp_length,
        code=outbox.test_code(phone) or "",
    )
    return CodeText(phone, channel, user, client, code.code)


async def send_message(
    context: DeliveryContext, transaction: Transaction, message: OutgoingEmail | CodeText
) -> str:
    """Send a prepared message as the last step of its transaction; return the provider's id of a text, else an empty one.

    Raises: AuthError; the transaction must be rolled back then.
    """
    if isinstance(message, CodeText):
        return await message.send(context, transaction)
    await context.outbox.send(message, transaction)
    return ""


async def begin_flow(
    transaction: Transaction, user: AuthUser, method: SignInMethod, challenge: CodeChallenge
) -> None:
    """Create the PKCE flow that the link will complete."""
    await flow_state.begin(transaction, NewFlowState("email", method.value, challenge, user.id))


async def reject_too_soon(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, kind: CodeKind, address: str
) -> None:
    """Lock a user and raise if a code of this kind was sent within the pause. Raises: AuthError (429) with the seconds to wait."""
    await users.lock(transaction, user.id)
    current = await users.find_by_id(transaction, user.id) or user
    pause = timedelta(seconds=_pause_s(context, address))
    _reject(address, wait_s(one_time.sent_at(current, kind), context.now(), pause))


async def enforce_pause(
    context: DeliveryContext, transaction: Transaction, what: str, address: str, aud: str
) -> None:
    """Raise if a message of this kind (`recover`, `otp`, `signup`...) was requested or repeated for an address within the pause.

    The address need not be registered. Raises: AuthError (429) with the seconds to wait.
    """
    pause_s, now = _pause_s(context, address), context.now()
    if pause_s <= 0:
        return
    requested, repeated = (_pause_name(context, way, what, address, aud) for way in ("asked", "repeated"))
    _reject(address, await rate_limits.pause(transaction, requested, now, pause_s))
    _reject(address, await rate_limits.paused_s(transaction, repeated, now, pause_s))


async def may_repeat(
    context: DeliveryContext, transaction: Transaction, what: str, address: str, aud: str
) -> bool:
    """Return whether a message of this kind may be repeated now; False within the pause after the last repetition.

    The address need not be registered. A repetition that comes too soon is not sent and gets the response of one that is, so
    a second request for an unregistered address is no error, and the response does not reveal which address is registered.
    Raises: AuthError (429) within the pause after a request of another endpoint (`enforce_pause`).
    """
    pause_s, now = _pause_s(context, address), context.now()
    if pause_s <= 0:
        return True
    requested, repeated = (_pause_name(context, way, what, address, aud) for way in ("asked", "repeated"))
    _reject(address, await rate_limits.paused_s(transaction, requested, now, pause_s))
    return not await rate_limits.pause(transaction, repeated, now, pause_s)


async def count_unsent(context: DeliveryContext, address: str) -> None:
    """Count a message that is not sent like one that is, so that the quota does not reveal whether an address is registered.

    Raises: AuthError (429).
    """
    if "@" in address:
        await context.outbox.count_mail()
    else:
        await context.outbox.count_text(address)


def _pause_name(context: DeliveryContext, way: str, what: str, address: str, aud: str) -> str:
    """Return the name of a pause, a keyed hash: the table does not reveal the addresses."""
    subject = f"{way} {what} {aud} {address}".encode(errors="surrogatepass")
    return f"{way}:{hmac.digest(context.code_key, subject, 'sha256').hex()[:40]}"


def _pause_s(context: DeliveryContext, address: str) -> float:
    settings = context.settings
    return float(settings.email.max_frequency if "@" in address else settings.sms.max_frequency)


def _reject(address: str, seconds: int) -> None:
    if seconds:
        template = rejections.EMAIL_TOO_SOON if "@" in address else rejections.SMS_TOO_SOON
        raise template(seconds=seconds, retry_after_s=seconds)
