"""Passkeys of anybody, for admins: seen and deleted. Source: reference page "auth", section 16.8."""

from schemas.http import Response
from workers.auth import audit
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.factors import passkeys
from workers.auth.http.endpoints.named import named_user
from workers.auth.http.endpoints.passkeys import passkey_id, refuse_if_off
from workers.auth.http.endpoints.present import acting_admin, refuse_unless_admin
from workers.auth.model.request import Asked, answer


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the passkeys of a user. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    refuse_if_off(accounts)
    async with accounts.transaction() as transaction:
        user = await named_user(transaction, asked)
        return answer(passkeys.passkeys_shown(await passkeys.of_user(transaction, user.id)))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Forget a passkey of a user. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    refuse_if_off(accounts)
    async with accounts.transaction() as transaction:
        user = await named_user(transaction, asked)
        id = passkey_id(asked, "passkey_id")
        await passkeys.remove(transaction, user.id, id)
        traits = {"passkey_id": str(id), **audit.about(user)}
        await audit.record(accounts, transaction, asked, Action.PASSKEY_DELETED, acting_admin(asked), traits)
    return Response(204)
