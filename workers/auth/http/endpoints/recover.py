"""POST /recover: sends a link to users who forgot the password.

The response, its duration and the rate limits are the same for unregistered addresses. Source: docs/reference/auth.md, section 5.4.
"""

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.users import users
from workers.auth.flows import captcha
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email
from workers.auth.model.pkce import parse_challenge
from workers.auth.model.rate_limits import account_limit, count_request
from workers.auth.model.request import AuthRequest, json_response


class RecoverBody(msgspec.Struct):
    """The address of the user who forgot the password."""

    email: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None


async def recover(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a link if the address is registered; respond the same if it is not. Raises: AuthError."""
    settings, client = context.settings, request.device.address
    await count_request(context.database, account_limit(settings.rate_limit, "recover"), client)
    if not settings.email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED(status=400)
    await captcha.check(context, request)
    body = request.read(RecoverBody)
    if not body.email:
        raise rejections.RECOVERY_NEEDS_EMAIL()
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email, aud = normal_email(body.email), request.audience(settings.jwt_aud)
    context.outbox.refuse_address(email)
    await context.outbox.refuse_unreachable(email)
    target = redirect_target(context, request, body.redirect_to)
    async with context.sending(email) as transaction:
        await code_messages.enforce_pause(context, transaction, "recover", email, aud)
        user = await users.find_by_email(transaction, email, aud)
        if user is None:
            await code_messages.count_unsent(context, email)
        else:
            mail = await code_messages.prepare_mail(
                context, transaction, user, code_messages.RECOVERY, target, challenge, client, is_paced=True
            )
            await audit.record(context, transaction, request, AuditAction.USER_RECOVERY_REQUESTED, user)
            await code_messages.send_message(context, transaction, mail)
    return json_response({})
