"""A user's change of e-mail address or phone number, until the new one is confirmed. Runs in the caller's transaction.

    PUT /user, e-mail:   mail = await begin_email_change(accounts, transaction, user, new, target, challenge, client)
    PUT /user, phone:    text = await begin_phone_change(accounts, transaction, user, new, channel, client)
    POST /resend:        mail = await repeat_email_change(...); text = await repeat_phone_change(...)
    POST /verify:        `confirming.py` ends the change

A secure change of e-mail is confirmed from the current address and from the new one, in any order, each with a code of
its own. Which of them was is kept in `email_change_confirm_status`, so that two codes to one address never count as
both. What an earlier change has sent is void when another begins. Source: reference page "auth", 6.3 and 6.4.
"""

from enum import IntEnum

from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.codes import OneTimeCode
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, Kind
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import users
from workers.auth.context import Accounts
from workers.auth.delivery import templates
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail, code_draft
from workers.auth.flows.pkce import Challenge
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


class Half(IntEnum):
    """What of a change of e-mail was confirmed: the values of `email_change_confirm_status`."""

    NONE = 0
    NEW = 1
    CURRENT = 2


def needs_both(accounts: Accounts, user: User) -> bool:
    """Tell whether a change of e-mail must be confirmed from the current address too."""
    return accounts.settings.email.double_confirm_changes and bool(user.email)


async def begin_email_change(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    new_email: str,
    redirect_to: str,
    challenge: Challenge | None = None,
    client: str = "",
) -> Mail:
    """Let a new address wait for its confirmation, and prepare the mails. `new_email` is normalised, and nobody's.

    Raises: AuthError (429, 400).
    """
    await letters.refuse_too_soon(accounts, transaction, user, Kind.EMAIL_CHANGE_NEW, new_email)
    await one_time.drop(transaction, user.id, EMAIL_CHANGE)
    change = users.Change(email_change=new_email, email_change_status=Half.NONE)
    waiting = await users.change(transaction, user, change)
    return await _mail(accounts, transaction, waiting, redirect_to, challenge, client)


async def repeat_email_change(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    redirect_to: str,
    challenge: Challenge | None = None,
    client: str = "",
) -> Mail | None:
    """Prepare the mails of a change once more, those that are not confirmed yet; None if there is none to repeat.

    The caller has kept the pause (`letters.pace`). Raises: AuthError (429, 400).
    """
    if not user.email_change:
        return None
    await users.lock(transaction, user.id)
    current = await users.find_by_id(transaction, user.id)
    if current is None or not current.email_change:
        return None
    return await _mail(accounts, transaction, current, redirect_to, challenge, client)


async def begin_phone_change(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    new_phone: str,
    channel: str = "sms",
    client: str = "",
) -> Text:
    """Let a new number wait for its confirmation, and prepare its code. `new_phone` is normalised, and nobody's.

    Raises: AuthError (429, 400, 422).
    """
    text = await letters.prepare_text(
        accounts, transaction, user, Kind.PHONE_CHANGE, new_phone, channel, client
    )
    await users.change(transaction, user, users.Change(phone_change=new_phone))
    return text


async def repeat_phone_change(
    accounts: Accounts, transaction: Transaction, user: User, channel: str = "sms", client: str = ""
) -> Text | None:
    """Prepare the code of a change once more; None if there is none to repeat. Raises: AuthError (429, 400, 422).

    The caller has kept the pause (`letters.pace`).
    """
    if not user.phone_change:
        return None
    return await letters.prepare_text(
        accounts, transaction, user, Kind.PHONE_CHANGE, user.phone_change, channel, client, is_paced=True
    )


async def _mail(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    redirect_to: str,
    challenge: Challenge | None,
    client: str,
) -> Mail:
    """Make the codes of the halves that are not confirmed, the current address's first."""
    outbox, own = accounts.outbox, accounts.settings
    new_email, done = user.email_change or "", user.email_change_confirm_status or Half.NONE
    halves: list[tuple[Kind, str]] = []
    if needs_both(accounts, user) and done != Half.CURRENT:
        halves.append((Kind.EMAIL_CHANGE_CURRENT, (user.email or "").lower()))
    if done != Half.NEW or not halves:
        halves.append((Kind.EMAIL_CHANGE_NEW, new_email))
    drafts = []
    for kind, address in halves:
        outbox.refuse_address(address)
        code = await _code(accounts, transaction, user, kind, address, is_pkce=challenge is not None)
        drafts.append(
            code_draft(
                own, outbox.external_url, templates.Kind.EMAIL_CHANGE, user, address, code, redirect_to
            )
        )
    if challenge is not None:
        await letters.begin_flow(transaction, user, Method.EMAIL_CHANGE, challenge)
    await outbox.count_mail(transaction, len(drafts))
    return Mail(templates.Kind.EMAIL_CHANGE, tuple(drafts), user, client, is_counted=True)


async def _code(
    accounts: Accounts, transaction: Transaction, user: User, kind: Kind, address: str, *, is_pkce: bool
) -> OneTimeCode:
    return await one_time.issue(
        transaction,
        accounts.code_key,
        user.id,
        kind,
        address,
        now=accounts.now(),
        length=accounts.settings.email.otp_length,
        is_pkce=is_pkce,
    )
