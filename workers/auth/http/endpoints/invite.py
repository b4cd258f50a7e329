"""POST /invite: an account for somebody else, and the mail that asks him in. Source: reference page "auth", section 16.6."""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.users import users
from workers.auth.accounts.users.addresses import normal_email
from workers.auth.accounts.users.invitations import invited, with_invited
from workers.auth.accounts.users.shown import user_shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.mails import Mail
from workers.auth.http.endpoints.present import acting_admin, refuse_unless_admin
from workers.auth.http.endpoints.target import target_of
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


class Body(msgspec.Struct):
    """Who is invited."""

    email: str = ""
    data: Metadata | None = None
    redirect_to: str = ""


async def invite(accounts: Accounts, asked: Asked) -> Response:
    """Invite somebody. Raises: AuthError (422) if the address is confirmed already."""
    await refuse_unless_admin(accounts, asked)
    body, client = asked.read(Body), asked.device.address
    email, aud = normal_email(body.email), asked.audience(accounts.settings.jwt_aud)
    accounts.outbox.refuse_address(email)
    await accounts.outbox.refuse_unreachable(email)
    target = target_of(accounts, asked, body.redirect_to)

    async def prepare(transaction: Transaction, user: User) -> tuple[Mail, User]:
        mail = await letters.prepare_mail(accounts, transaction, user, letters.INVITE, target, client=client)
        await audit.record(
            accounts, transaction, asked, Action.USER_INVITED, acting_admin(asked), audit.about(user)
        )
        return mail, await users.find_by_id(transaction, user.id) or user

    new = invited(accounts, aud, email, body.data)
    mail, user = await with_invited(accounts, new, client, prepare, is_invitation=True)
    await accounts.outbox.send(mail)
    return answer(user_shown(user))
