"""Second factors of anybody, for admins: seen, changed, removed. Source: reference page "auth", section 16.8."""

from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users.addresses import normal_phone
from workers.auth.accounts.users.shown import factor_shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.factors import factors, recovery_codes
from workers.auth.factors.factor_notices import Change, tell
from workers.auth.factors.second_factor import FactorRow
from workers.auth.http.endpoints.factor_owner import named_factor
from workers.auth.http.endpoints.named import locked_user, named_user
from workers.auth.http.endpoints.present import acting_admin, refuse_unless_admin
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Factor, User
from workers.database.interactive import Transaction


class Body(msgspec.Struct):
    """What an admin may change of a factor."""

    friendly_name: str | None = None
    phone: str | None = None


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the factors of a user. Raises: AuthError (404)."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        user = await named_user(transaction, asked)
    return answer([factor_shown(each) for each in user.factors])


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change a factor's name or number. Raises: AuthError (400, 404, 422)."""
    await refuse_unless_admin(accounts, asked)
    body = asked.read(Body)
    async with accounts.transaction() as transaction:
        user, factor = await _factor(transaction, asked)
        others = [each for each in user.factors if each.id != factor.id]
        if body.friendly_name is not None:
            factors.refuse_name(body.friendly_name, others)
        phone = _new_number(factor, others, body.phone)
        await factors.change(transaction, factor.id, name=body.friendly_name, phone=phone, now=accounts.now())
        await _record(accounts, transaction, asked, Action.FACTOR_UPDATED, user, factor.id)
        changed = _of(await named_user(transaction, asked), factor.id)
    return answer(factor_shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Remove a factor; sessions that it raised drop to aal1.

    Recovery codes go along with the last other verified factor: they cannot be a user's only one.
    Raises: AuthError (404).
    """
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        user, factor = await _factor(transaction, asked)
        removed = [factor.id]
        if factor.is_verified and factors.leaves_codes_alone(user, factor.id):
            codes = await recovery_codes.find_any(transaction, user.id)
            removed += [codes.factor_id] if codes is not None else []
        for id in removed:
            await factors.remove(transaction, id)
            await sessions.lower_level(transaction, id)
            await _record(accounts, transaction, asked, Action.FACTOR_DELETED, user, id)
    if factor.is_verified:
        await tell(accounts, user, Change.UNENROLLED, factor.factor_type)
    return answer(factor_shown(_of(user, factor.id)))


def _new_number(factor: FactorRow, others: list[Factor], given: str | None) -> str | None:
    """Give the number that a factor gets, None if it keeps its own."""
    if not given:
        return None
    if factor.factor_type != "phone":
        raise AuthError(Code.VALIDATION_FAILED, "Only a factor of type phone has a phone number")
    phone = normal_phone(given)
    if any(each.phone == phone for each in others):
        raise rejections.FACTOR_NUMBER_TAKEN()
    return phone


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, action: Action, user: User, id: UUID
) -> None:
    traits = {"factor_id": str(id), **audit.about(user)}
    await audit.record(accounts, transaction, asked, action, acting_admin(asked), traits)


async def _factor(transaction: Transaction, asked: Asked) -> tuple[User, FactorRow]:
    """Find a factor, and keep others from changing its user."""
    user = await locked_user(transaction, asked)
    return user, await named_factor(transaction, asked, user, "factor_id")


def _of(user: User, id: UUID) -> Factor:
    """Give a factor of a user as it is shown. Raises: AuthError (404) if a trigger of the project put it away."""
    found = next((each for each in user.factors if each.id == id), None)
    if found is None:
        raise rejections.FACTOR_NOT_FOUND()
    return found
