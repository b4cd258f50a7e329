"""Second factors of any user, for administrators: list, change, delete. Source: docs/reference/auth.md, section 16.8."""

from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.factors import factors, recovery_codes
from workers.auth.factors.factor_notices import FactorChange, send_notice
from workers.auth.factors.second_factor import FactorRow
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.factor_owner import path_factor
from workers.auth.http.path_user import lock_path_user, path_user
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_phone
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Factor
from workers.auth.model.user_json import factor_json
from workers.database.transactions.interactive import Transaction


class FactorChangeBody(msgspec.Struct):
    """What an administrator may change of a factor."""

    friendly_name: str | None = None
    phone: str | None = None


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List the factors of a user. Raises: AuthError (404)."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        user = await path_user(transaction, request)
    return json_response([factor_json(factor) for factor in user.factors])


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change a factor's name or number. Raises: AuthError (400, 404, 422)."""
    await require_admin(context, request)
    body = request.read(FactorChangeBody)
    async with context.transaction() as transaction:
        user, factor = await _factor(transaction, request)
        others = [other for other in user.factors if other.id != factor.id]
        if body.friendly_name is not None:
            factors.reject_name(body.friendly_name, others)
        phone = _new_number(factor, others, body.phone)
        await factors.change(transaction, factor.id, name=body.friendly_name, phone=phone, now=context.now())
        await _record(context, transaction, request, AuditAction.FACTOR_UPDATED, user, factor.id)
        changed = _of(await path_user(transaction, request), factor.id)
    return json_response(factor_json(changed))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a factor; sessions that it raised drop to aal1.

    Recovery codes are deleted with the last other verified factor, because they cannot be a user's only one.
    Raises: AuthError (404).
    """
    await require_admin(context, request)
    async with context.transaction() as transaction:
        user, factor = await _factor(transaction, request)
        removed = [factor.id]
        if factor.is_verified and factors.leaves_codes_alone(user, factor.id):
            codes = await recovery_codes.find_any(transaction, user.id)
            removed += [codes.factor_id] if codes is not None else []
        for id in removed:
            await factors.remove(transaction, id)
            await sessions.lower_level(transaction, id)
            await _record(context, transaction, request, AuditAction.FACTOR_DELETED, user, id)
    if factor.is_verified:
        await send_notice(context, user, FactorChange.UNENROLLED, factor.factor_type)
    return json_response(factor_json(_of(user, factor.id)))


def _new_number(factor: FactorRow, others: list[Factor], requested: str | None) -> str | None:
    """Return the number that a factor gets; None if it keeps its number."""
    if not requested:
        return None
    if factor.factor_type != "phone":
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Only a factor of type phone has a phone number")
    phone = normal_phone(requested)
    if any(other.phone == phone for other in others):
        raise rejections.FACTOR_NUMBER_TAKEN()
    return phone


async def _record(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    action: AuditAction,
    user: AuthUser,
    id: UUID,
) -> None:
    traits = {"factor_id": str(id), **audit.user_traits(user)}
    await audit.record(context, transaction, request, action, acting_admin(request), traits)


async def _factor(transaction: Transaction, request: AuthRequest) -> tuple[AuthUser, FactorRow]:
    """Find a factor, and lock its user."""
    user = await lock_path_user(transaction, request)
    return user, await path_factor(transaction, request, user, "factor_id")


def _of(user: AuthUser, id: UUID) -> Factor:
    """Return a factor of a user. Raises: AuthError (404) if a trigger of the project deleted it."""
    match = next((factor for factor in user.factors if factor.id == id), None)
    if match is None:
        raise rejections.FACTOR_NOT_FOUND()
    return match
