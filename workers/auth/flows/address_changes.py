"""Changes of a user's email address or phone number, until the new one is confirmed. Runs in the caller's transaction.

    PUT /user, email:    mail = await begin_email_change(context, transaction, user, new, target, challenge, client)
    PUT /user, phone:    text = await begin_phone_change(context, transaction, user, new, channel, client)
    POST /resend:        mail = await repeat_email_change(...); text = await repeat_phone_change(...)
    POST /verify:        `confirmation.py` completes the change

A secure change of email is confirmed from the current address and from the new one, in any order, each with a code of its
own. `email_change_confirm_status` stores which half was confirmed, so that two codes to one address never count as both.
A new change makes the codes of an earlier one invalid. Source: docs/reference/auth.md, sections 6.3 and 6.4.
"""

from enum import IntEnum

from workers.auth.accounts.codes import code_messages, one_time
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, CodeKind
from workers.auth.accounts.users import users
from workers.auth.delivery import templates
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.email.emails import OutgoingEmail, code_draft
from workers.auth.model.claims import SignInMethod
from workers.auth.model.codes import OneTimeCode
from workers.auth.model.pkce import CodeChallenge
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


class ConfirmedHalf(IntEnum):
    """Which half of a change of email was confirmed: the values of `email_change_confirm_status`."""

    NONE = 0
    NEW = 1
    CURRENT = 2


def needs_both(context: DeliveryContext, user: AuthUser) -> bool:
    """Return whether a change of email must be confirmed from the current address too."""
    return context.settings.email.double_confirm_changes and bool(user.email)


async def begin_email_change(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    new_email: str,
    redirect_to: str,
    challenge: CodeChallenge | None = None,
    client: str = "",
) -> OutgoingEmail:
    """Store a new address as pending and prepare the emails. `new_email` is normalised, and not taken.

    Raises: AuthError (429, 400).
    """
    await code_messages.reject_too_soon(context, transaction, user, CodeKind.EMAIL_CHANGE_NEW, new_email)
    await one_time.drop(transaction, user.id, EMAIL_CHANGE)
    change = users.UserChange(email_change=new_email, email_change_status=ConfirmedHalf.NONE)
    waiting = await users.change(transaction, user, change)
    return await _mail(context, transaction, waiting, redirect_to, challenge, client)


async def repeat_email_change(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    redirect_to: str,
    challenge: CodeChallenge | None = None,
    client: str = "",
) -> OutgoingEmail | None:
    """Prepare the emails of a pending change again, for halves that are not confirmed yet; None if no change is pending.

    The caller has enforced the pause (`code_messages.enforce_pause`). Raises: AuthError (429, 400).
    """
    if not user.email_change:
        return None
    await users.lock(transaction, user.id)
    current = await users.find_by_id(transaction, user.id)
    if current is None or not current.email_change:
        return None
    return await _mail(context, transaction, current, redirect_to, challenge, client)


async def begin_phone_change(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    new_phone: str,
    channel: str = "sms",
    client: str = "",
) -> CodeText:
    """Store a new number as pending and prepare its code. `new_phone` is normalised, and not taken.

    Raises: AuthError (429, 400, 422).
    """
    text = await code_messages.prepare_text(
        context, transaction, user, CodeKind.PHONE_CHANGE, new_phone, channel, client
    )
    await users.change(transaction, user, users.UserChange(phone_change=new_phone))
    return text


async def repeat_phone_change(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, channel: str = "sms", client: str = ""
) -> CodeText | None:
    """Prepare the code of a pending change again; None if no change is pending. Raises: AuthError (429, 400, 422).

    The caller has enforced the pause (`code_messages.enforce_pause`).
    """
    if not user.phone_change:
        return None
    return await code_messages.prepare_text(
        context, transaction, user, CodeKind.PHONE_CHANGE, user.phone_change, channel, client, is_paced=True
    )


async def _mail(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    redirect_to: str,
    challenge: CodeChallenge | None,
    client: str,
) -> OutgoingEmail:
    """Create the codes of the halves that are not confirmed, the current address's first."""
    outbox, settings = context.outbox, context.settings
    new_email, done = user.email_change or "", user.email_change_confirm_status or ConfirmedHalf.NONE
    halves: list[tuple[CodeKind, str]] = []
    if needs_both(context, user) and done != ConfirmedHalf.CURRENT:
        halves.append((CodeKind.EMAIL_CHANGE_CURRENT, (user.email or "").lower()))
    if done != ConfirmedHalf.NEW or not halves:
        halves.append((CodeKind.EMAIL_CHANGE_NEW, new_email))
    drafts = []
    for kind, address in halves:
        outbox.refuse_address(address)
        code = await _code(context, transaction, user, kind, address, is_pkce=challenge is not None)
        drafts.append(
            code_draft(
                settings,
                outbox.external_url,
                templates.EmailKind.EMAIL_CHANGE,
                user,
                address,
                code,
                redirect_to,
            )
        )
    if challenge is not None:
        await code_messages.begin_flow(transaction, user, SignInMethod.EMAIL_CHANGE, challenge)
    return OutgoingEmail(templates.EmailKind.EMAIL_CHANGE, tuple(drafts), user, client)


async def _code(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    kind: CodeKind,
    address: str,
    *,
    is_pkce: bool,
) -> OneTimeCode:
    return await one_time.issue(
        transaction,
        context.code_key,
        user.id,
        kind,
        address,
        now=context.now(),
        length=context.settings.email.otp_length,
        is_pkce=is_pkce,
    )
