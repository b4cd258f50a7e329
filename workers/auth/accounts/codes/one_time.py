"""One-time codes of users: kept, found by link or by address and typed code, tried, used up. `codes.py` has their forms.

    issue(transaction, key, user_id, kind, address, now=...)      a new code takes the place of the kind's old one
    find_by_link(accounts, transaction, link, kinds)              the live code of a link, None if there is none
    try_code(accounts, kinds, address, code, aud, client=...)     the live code that was typed, None if it is wrong
    take(transaction, token)                                      used up: the user, locked; None if another was quicker
    drop(transaction, user_id, kinds)                             void, unused
    users.forget_codes(transaction, user_id)                      all codes of a user, after any success

How to check a code, whatever it is for (here: the nonce of a new password):

    token = await one_time.try_code(accounts, (Kind.REAUTHENTICATION,), user.email, nonce, user.aud, user_id=user.id)
    if token is None:
        raise rejections.BAD_NONCE()
    async with accounts.transaction() as transaction:
        user = await one_time.take(transaction, token)            # locks the user, works once
        if user is None:
            raise rejections.BAD_NONCE()
        ...                                                       # what the code allows

`try_code` opens transactions of its own, so never call it within one: a wrong code counts although the request fails.
After five wrong ones a code is dead; its link lives on, for nobody can guess that, and nobody shall make it void for the
owner by typing nonsense. Beyond the life of one code, wrong ones of an address are few in an hour (30), fewer still from one
network (10), whether anybody has the address or not. Networks at which the user has signed in lately (`networks.py`) have five
wrong ones of their own for each code, and 30 an hour of their own: nobody elsewhere keeps the owner out there. Where a provider makes and checks the codes of phones, it is asked, after the try has
been counted.

Sending is one step up, in `letters.py`: how often, to whom, in which words. Source: reference page "auth", 5.1 and 21.
"""

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from schemas.settings.types import Quota
from workers.auth.accounts.codes import codes, limits, networks
from workers.auth.accounts.codes.codes import CodeLimits, CodeState, OneTimeCode, Outcome, attempt
from workers.auth.accounts.users import users
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.rows import User
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.codes", "one_time.sql")


class Kind(StrEnum):
    """What a code is for: the name of its column, and of its type in the database."""

    CONFIRMATION = "confirmation_token"
    RECOVERY = "recovery_token"
    EMAIL_CHANGE_CURRENT = "email_change_token_current"
    EMAIL_CHANGE_NEW = "email_change_token_new"
    PHONE_CHANGE = "phone_change_token"
    REAUTHENTICATION = "reauthentication_token"


_NOBODYS = "0" * 56
"""As a code is stored; it is nobody's."""
_MOST_WRONG, _MOST_OF_CLIENT = Quota("30/1h"), Quota("10/1h")
EMAIL_CHANGE = (Kind.EMAIL_CHANGE_CURRENT, Kind.EMAIL_CHANGE_NEW)


class Token(Struct, frozen=True):
    """A code as its row holds it. `relates_to` is the address it was sent to, `sent_at` when."""

    id: UUID
    user_id: UUID
    token_type: Kind
    token_hash: str
    relates_to: str
    failed_attempts: int = 0
    failed_at_known: int = 0
    """Those typed at networks that the user is known at; the others are `failed_attempts`."""
    sent_at: datetime | None = None

    @property
    def is_of_phone(self) -> bool:
        """Tell whether it was sent to a phone."""
        return "@" not in self.relates_to

    @property
    def is_pkce(self) -> bool:
        """Tell whether its link belongs to a PKCE flow."""
        return codes.is_pkce(self.token_hash)

    def __repr__(self) -> str:
        return f"Token({self.token_type}, {self.id})"


def sent_at(user: User, kind: Kind) -> datetime | None:
    """Give when a user was last sent a code of a kind."""
    name = "email_change" if kind in EMAIL_CHANGE else kind.removesuffix("_token")
    moment: datetime | None = getattr(user, f"{name}_sent_at")
    return moment


async def issue(
    transaction: Transaction,
    key: bytes,
    user_id: UUID,
    kind: Kind,
    address: str,
    *,
    now: datetime,
    length: int = codes.USUAL_LENGTH,
    is_pkce: bool = False,
    code: str = "",
) -> OneTimeCode:
    """Make a code for a user and an address of his, in place of the kind's old one. `code` is a fixed one, empty: drawn."""
    made = codes.issue(code or codes.new_code(codes.code_length(length)), address, key, is_pkce=is_pkce)
    await transaction.rows(_SQL["note"], str(user_id), kind.value, made.stored, now.isoformat())
    await transaction.rows(_SQL["keep"], str(user_id), kind.value, made.stored, address)
    return made


async def find_by_link(
    accounts: Accounts, transaction: Transaction, link: str, kinds: Collection[Kind]
) -> Token | None:
    """Find the live code of a link's token."""
    stored = codes.stored_of_link(link, accounts.code_key)
    if stored is None:
        return None
    found = await transaction.one(_SQL["of_link"], Token, stored, _array(kinds))
    return found if found is not None and not _is_over(accounts, found) else None


async def try_code(
    accounts: Accounts,
    kinds: Collection[Kind],
    address: str,
    code: str,
    aud: str,
    *,
    client: str = "",
    user_id: UUID | None = None,
) -> Token | None:
    """Try a typed code of an address; only a user's own where `user_id` is given. Never within a transaction.

    Raises: AuthError (429) while tries have to wait; (422) if the provider that checks codes does not answer.
    """
    is_test = accounts.outbox.test_code(address) is not None
    checker = None if is_test or "@" in address else accounts.outbox.checker
    network = networks.network_hash(accounts.code_key, aud, address, client)
    async with accounts.transaction() as transaction:
        # The same statements for an address that nobody has, and no commit that waits for the disk where something was
        # counted: else the time would tell who is known.
        await transaction.rows(_SQL["do_not_wait"])
        is_known = await networks.is_known(transaction, network)
        tries = {} if is_test else _tries(accounts, aud, address, client, is_known=is_known)
        for name, quota in tries.items():
            if wait_s := await limits.count(transaction, name, quota):
                raise rejections.OVER_REQUEST_RATE(retry_after_s=wait_s)
        rows = await transaction.all(
            _SQL["of_address"], Token, address, _array(kinds), aud, "" if user_id is None else str(user_id)
        )
        alive = [each for each in rows if not _is_dead(accounts, each, is_known=is_known)]
        found = _matching(alive, address, code, accounts.code_key) if checker is None else None
        if found is not None:
            await limits.forget(transaction, *tries)
        else:
            await transaction.rows(_SQL["count_wrong"], _array([str(each.id) for each in alive]), is_known)
    if checker is None or not alive or not await accounts.outbox.is_right(address, code):
        return found
    async with accounts.transaction() as transaction:
        await limits.forget(transaction, *tries)
    return alive[0]


async def take(transaction: Transaction, token: Token) -> User | None:
    """Use a code up, and give its user, locked; None if the code was used or replaced meanwhile."""
    await users.lock(transaction, token.user_id)
    if not await transaction.rows(_SQL["take"], str(token.id), token.token_hash):
        return None
    return await users.find_by_id(transaction, token.user_id)


async def drop(transaction: Transaction, user_id: UUID, kinds: Collection[Kind]) -> None:
    """Make a user's codes of some kinds void."""
    await users.lock(transaction, user_id)
    await transaction.rows(_SQL["drop"], str(user_id), _array(kinds))


def lifetime(accounts: Accounts, address: str) -> timedelta:
    """Give how long a code to an address is valid."""
    own = accounts.settings
    return timedelta(seconds=own.email.otp_expiry if "@" in address else own.sms.otp_expiry)


def _tries(accounts: Accounts, aud: str, address: str, client: str, *, is_known: bool) -> dict[str, Quota]:
    """Name what counts the codes typed for an address: of one network, and of all that are not known, or that are.

    Nobody reads from it whose they are.
    """
    told = f"tries {aud} {address}".encode(errors="surrogatepass")
    name = f"tries:{hmac.digest(accounts.code_key, told, 'sha256').hex()[:40]}"
    network = networks.network_of(client)
    of_network = {f"{name}:{network}": _MOST_OF_CLIENT} if network else {}
    return {**of_network, f"{name}:known" if is_known else name: _MOST_WRONG}


def _matching(alive: list[Token], address: str, code: str, key: bytes) -> Token | None:
    """Compare a typed code with all of them, whichever it is; with one that nobody has if there is none."""
    right = [each for each in alive if codes.is_code_of(each.token_hash, code, each.relates_to, key)]
    if not alive:
        codes.is_code_of(_NOBODYS, code, address, key)
    return right[0] if right else None


def _is_over(accounts: Accounts, token: Token) -> bool:
    """Tell whether a code was sent too long ago, or never."""
    return token.sent_at is None or accounts.now() >= token.sent_at + lifetime(accounts, token.relates_to)


def _is_dead(accounts: Accounts, token: Token, *, is_known: bool) -> bool:
    """Tell whether a code may not be typed any more: it is too old, or too many wrong ones were, here or elsewhere."""
    if token.sent_at is None:
        return True
    limits = CodeLimits(lifetime(accounts, token.relates_to))
    state = CodeState(token.sent_at, token.failed_at_known if is_known else token.failed_attempts)
    return attempt(state, matches=True, now=accounts.now(), limits=limits)[1] is not Outcome.ACCEPTED


def _array(values: Collection[str]) -> str:
    """Give names as an array of Postgres; none holds a sign that would need quoting."""
    return "{" + ",".join(values) + "}"
