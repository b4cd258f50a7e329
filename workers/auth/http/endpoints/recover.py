"""POST /recover: a link for who has lost the password. Nobody learns from the answer whether an address is known.

Source: reference page "auth", section 5.4.
"""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import account_limit, take
from workers.auth.accounts.users import users
from workers.auth.accounts.users.addresses import normal_email
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.flows import captcha
from workers.auth.flows.pkce import parse_challenge
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.request import Asked, answer


class Body(msgspec.Struct):
    """Who has lost the password."""

    email: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None


async def recover(accounts: Accounts, asked: Asked) -> Response:
    """Send a link to an address that is known; say the same of one that is not. Raises: AuthError."""
    own, client = accounts.settings, asked.device.address
    await take(accounts.database, account_limit(own.rate_limit, "recover"), client)
    await captcha.check(accounts, asked)
    if not own.email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED(status=400)
    body = asked.read(Body)
    if not body.email:
        raise rejections.RECOVERY_NEEDS_EMAIL()
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email, aud = normal_email(body.email), asked.audience(own.jwt_aud)
    accounts.outbox.refuse_address(email)
    await accounts.outbox.refuse_unreachable(email)
    target = target_of(accounts, asked, body.redirect_to)
    mail = None
    async with accounts.transaction() as transaction:
        await letters.pace(accounts, transaction, "recover", email, aud)
        user = await users.find_by_email(transaction, email, aud)
        if user is None:
            await letters.pretend(accounts, transaction, email)
        else:
            mail = await letters.prepare_mail(
                accounts, transaction, user, letters.RECOVERY, target, challenge, client, is_paced=True
            )
            await audit.record(accounts, transaction, asked, Action.USER_RECOVERY_REQUESTED, user)
    if mail is not None:
        await accounts.outbox.send(mail)
    return answer({})
