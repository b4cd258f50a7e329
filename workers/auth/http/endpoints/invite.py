"""POST /invite: creates a user and sends the invitation. Source: docs/reference/auth.md, section 16.6."""

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.users import users
from workers.auth.flows.invitations import invited_user, with_invited
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model.addresses import normal_email
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata
from workers.auth.model.user_json import user_json
from workers.database.transactions.interactive import Transaction


class InviteBody(msgspec.Struct):
    """The invited address."""

    email: str = ""
    data: Metadata | None = None
    redirect_to: str = ""


async def invite(context: EndpointContext, request: AuthRequest) -> Response:
    """Invite a user. Raises: AuthError (422) if the address is confirmed already."""
    await require_admin(context, request)
    body, client = request.read(InviteBody), request.device.address
    email, aud = normal_email(body.email), request.audience(context.settings.jwt_aud)
    context.outbox.refuse_address(email)
    await context.outbox.refuse_unreachable(email)
    target = redirect_target(context, request, body.redirect_to)

    async def send(transaction: Transaction, user: AuthUser) -> AuthUser:
        mail = await code_messages.prepare_mail(
            context, transaction, user, code_messages.INVITE, target, client=client
        )
        await audit.record(
            context,
            transaction,
            request,
            AuditAction.USER_INVITED,
            acting_admin(request),
            audit.user_traits(user),
        )
        invited = await users.find_by_id(transaction, user.id) or user
        await code_messages.send_message(context, transaction, mail)
        return invited

    new = invited_user(context, aud, email, body.data)
    user = await with_invited(context, new, client, send, is_invitation=True)
    return json_response(user_json(user))
