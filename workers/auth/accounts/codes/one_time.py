"""One-time codes of users: stored, found by link or by address and typed code, used up. `model/codes.py` has their forms.

    issue(transaction, key, user_id, kind, address, now=...)      a new code replaces the old one of its kind
    find_by_link(context, transaction, link, kinds)               the valid code of a link, or None
    try_code(context, kinds, address, code, aud, client=...)      the valid code that was typed, or None if it is wrong
    take(transaction, token)                                      use the code up: the user, locked; None if another was faster
    drop(transaction, user_id, kinds)                             make codes invalid
    users.forget_codes(transaction, user_id)                      delete all codes of a user, after any success

How to check a code, whatever it is for (here: the nonce of a new password):

    token = await one_time.try_code(context, (CodeKind.REAUTHENTICATION,), user.email, nonce, user.aud, user_id=user.id)
    if token is None:
        raise rejections.BAD_NONCE()
    async with context.transaction() as transaction:
        user = await one_time.take(transaction, token)            # locks the user, works once
        if user is None:
            raise rejections.BAD_NONCE()
        ...                                                       # what the code allows

Guessing. `try_code` opens transactions of its own, because a wrong code must be counted although the request fails; never
call it within a transaction. After five wrong codes the code is invalid. Its link stays valid: it cannot be guessed, and
otherwise anyone could invalidate the owner's link by typing wrong codes. At most 30 wrong codes an hour per address, 10 per
address and network, whether the address is registered or not. Networks at which the user has signed in recently
(`networks.py`) have a budget of their own, five per code and 30 an hour, so an attacker elsewhere cannot lock the owner out.
Where an SMS provider generates and checks the codes, it is asked after the attempt has been counted.

`code_messages.py` sends codes. Source: docs/reference/auth.md, sections 5.1 and 21.
"""

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from schemas.settings.types import Quota
from workers.auth.accounts.codes import networks
from workers.auth.accounts.users import users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model import codes, rate_limits, rejections
from workers.auth.model.codes import OneTimeCode
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.codes", "one_time.sql")


class CodeKind(StrEnum):
    """What a code is for: the name of its column in `auth.users`, and of its type in `auth.one_time_tokens`."""

    CONFIRMATION = "confirmation_token"
    RECOVERY = "recovery_token"
    EMAIL_CHANGE_CURRENT = "email_change_token_current"
    EMAIL_CHANGE_NEW = "email_change_token_new"
    PHONE_CHANGE = "phone_change_token"
    REAUTHENTICATION = "reauthentication_token"


_NO_CODE = "0" * 56
"""A stored form that no code has."""
_MAX_FAILED = 5
_PER_ADDRESS, _PER_CLIENT = Quota("30/1h"), Quota("10/1h")
EMAIL_CHANGE = (CodeKind.EMAIL_CHANGE_CURRENT, CodeKind.EMAIL_CHANGE_NEW)


class OneTimeToken(Struct, frozen=True):
    """A code as its row contains it. `relates_to` is the address it was sent to, `sent_at` when."""

    id: UUID
    user_id: UUID
    token_type: CodeKind
    token_hash: str
    relates_to: str
    failed_attempts: int = 0
    failed_at_known: int = 0
    """Failed attempts at networks that the user is known at; `failed_attempts` counts the others."""
    sent_at: datetime | None = None

    @property
    def is_of_phone(self) -> bool:
        """Return whether the code was sent to a phone."""
        return "@" not in self.relates_to

    @property
    def is_pkce(self) -> bool:
        """Return whether its link belongs to a PKCE flow."""
        return codes.is_pkce(self.token_hash)

    def __repr__(self) -> str:
        return f"Token({self.token_type}, {self.id})"


def sent_at(user: AuthUser, kind: CodeKind) -> datetime | None:
    """Return when a code of a kind was last sent to a user."""
    name = "email_change" if kind in EMAIL_CHANGE else kind.removesuffix("_token")
    moment: datetime | None = getattr(user, f"{name}_sent_at")
    return moment


async def issue(
    transaction: Transaction,
    key: bytes,
    user_id: UUID,
    kind: CodeKind,
    address: str,
    *,
    now: datetime,
    length: int = codes.USUAL_LENGTH,
    is_pkce: bool = False,
    code: str = "",
) -> OneTimeCode:
    """Create a code for an address of a user; it replaces the old one of its kind. `code` sets a fixed code, else it is random."""
    issued = codes.issue(code or codes.new_code(codes.code_length(length)), address, key, is_pkce=is_pkce)
    await transaction.rows(_SQL["note"], str(user_id), kind.value, issued.stored, now.isoformat())
    await transaction.rows(_SQL["keep"], str(user_id), kind.value, issued.stored, address)
    return issued


async def find_by_link(
    context: DeliveryContext, transaction: Transaction, link: str, kinds: Collection[CodeKind]
) -> OneTimeToken | None:
    """Find the valid code of a link's token."""
    stored = codes.stored_of_link(link, context.code_key)
    if stored is None:
        return None
    token = await transaction.one(_SQL["of_link"], OneTimeToken, stored, _array(kinds))
    return token if token is not None and not _is_over(context, token) else None


async def try_code(
    context: DeliveryContext,
    kinds: Collection[CodeKind],
    address: str,
    code: str,
    aud: str,
    *,
    client: str = "",
    user_id: UUID | None = None,
) -> OneTimeToken | None:
    """Return the valid code that matches what was typed for an address, else None. Never call it within a transaction.

    With `user_id` only codes of that user match. Raises: AuthError (429) while attempts have to wait; (422) if the SMS provider
    that checks codes does not answer.
    """
    is_test = context.outbox.test_code(address) is not None
    checker = None if is_test or "@" in address else context.outbox.checker
    network = networks.network_hash(context.code_key, aud, address, client)
    async with context.transaction() as transaction:
        # Timing: unregistered addresses run the same statements, and the commit does not wait for the disk, because only
        # registered addresses have rows to write.
        await transaction.rows(_SQL["do_not_wait"])
        is_known = await networks.is_known(transaction, network)
        tries = {} if is_test else _counters(context, aud, address, client, is_known=is_known)
        for name, quota in tries.items():
            if wait_s := await rate_limits.count(transaction, name, quota):
                raise rejections.OVER_REQUEST_RATE(retry_after_s=wait_s)
        owner = "" if user_id is None else str(user_id)
        rows = await transaction.all(_SQL["of_address"], OneTimeToken, address, _array(kinds), aud, owner)
        alive = [row for row in rows if not _is_dead(context, row, is_known=is_known)]
        matching = _matching(alive, address, code, context.code_key) if checker is None else None
        if matching is not None:
            await rate_limits.forget(transaction, *tries)
        else:
            await transaction.rows(_SQL["count_wrong"], _array([str(token.id) for token in alive]), is_known)
    if checker is None or not alive or not await context.outbox.is_right(address, code):
        return matching
    async with context.transaction() as transaction:
        await rate_limits.forget(transaction, *tries)
    return alive[0]


async def take(transaction: Transaction, token: OneTimeToken) -> AuthUser | None:
    """Use a code up, and return its user, locked; None if the code was used or replaced since it was found."""
    # Lock order: first the user, then codes, here and in `drop`; another order could deadlock.
    await users.lock(transaction, token.user_id)
    # The hash must still be the same: a new code of this kind reuses the row.
    if not await transaction.rows(_SQL["take"], str(token.id), token.token_hash):
        return None
    return await users.find_by_id(transaction, token.user_id)


async def drop(transaction: Transaction, user_id: UUID, kinds: Collection[CodeKind]) -> None:
    """Make a user's codes of some kinds invalid."""
    await users.lock(transaction, user_id)
    await transaction.rows(_SQL["drop"], str(user_id), _array(kinds))


def lifetime(context: DeliveryContext, address: str) -> timedelta:
    """Return how long a code to an address is valid."""
    settings = context.settings
    return timedelta(seconds=settings.email.otp_expiry if "@" in address else settings.sms.otp_expiry)


def _counters(
    context: DeliveryContext, aud: str, address: str, client: str, *, is_known: bool
) -> dict[str, Quota]:
    """Return the counters of codes typed for an address: of this network, and of all unknown networks or of all known ones.

    The names are keyed hashes, so the table does not reveal the addresses.
    """
    subject = f"tries {aud} {address}".encode(errors="surrogatepass")
    name = f"tries:{hmac.digest(context.code_key, subject, 'sha256').hex()[:40]}"
    network = networks.network_of(client)
    of_network = {f"{name}:{network}": _PER_CLIENT} if network else {}
    return {**of_network, f"{name}:known" if is_known else name: _PER_ADDRESS}


def _matching(alive: list[OneTimeToken], address: str, code: str, key: bytes) -> OneTimeToken | None:
    """Compare a typed code with all valid ones; without any, with a stored form that matches nothing, so the time is the same."""
    right = [token for token in alive if codes.is_code_of(token.token_hash, code, token.relates_to, key)]
    if not alive:
        codes.is_code_of(_NO_CODE, code, address, key)
    return right[0] if right else None


def _is_over(context: DeliveryContext, token: OneTimeToken) -> bool:
    """Return whether a code was sent too long ago, or never."""
    return codes.is_over(token.sent_at, context.now(), lifetime(context, token.relates_to))


def _is_dead(context: DeliveryContext, token: OneTimeToken, *, is_known: bool) -> bool:
    """Return whether a code may not be typed any more: it is too old, or had too many failed attempts, at known networks or others."""
    failed = token.failed_at_known if is_known else token.failed_attempts
    return _is_over(context, token) or failed >= _MAX_FAILED


def _array(values: Collection[str]) -> str:
    """Return names as an array literal of Postgres; none contains a character that needs quoting."""
    return "{" + ",".join(values) + "}"
