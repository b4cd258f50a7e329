"""People as providers tell of them, and accounts that nobody has confirmed."""

import json
import uuid

from tests.workers.auth.auth_pool import AuthPool
from workers.auth.federation.social.protocol import ProviderEmail, ProviderUser

_UNCONFIRMED = (
    "insert into auth.users (instance_id, id, aud, role, email, email_confirmed_at, phone, phone_confirmed_at, "
    "encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at, updated_at) values "
    "('00000000-0000-0000-0000-000000000000', $1, 'authenticated', 'authenticated', $2, null, $3, "
    "case when $3::text is null then null else now() end, '', '{}', '{}', now(), now())"
)


def person(*emails: ProviderEmail, subject: str = "", **claims: object) -> ProviderUser:
    return ProviderUser(subject or uuid.uuid4().hex, emails, claims)


def verified(email: str, *, is_primary: bool = False) -> ProviderEmail:
    return ProviderEmail(email, True, is_primary)


def claimed(email: str) -> ProviderEmail:
    return ProviderEmail(email, False, True)


async def unconfirmed(auth_pool: AuthPool, email: str, phone: str | None = None) -> uuid.UUID:
    """Make an account that nobody has confirmed by its address."""
    id = uuid.uuid4()
    await auth_pool.admin.execute(_UNCONFIRMED, id, email, phone)
    data = json.dumps({"sub": str(id), "email": email, "email_verified": False})
    await auth_pool.admin.execute(
        "insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at) "
        "values ($1, $2, $3, 'email', now(), now())", str(id), id, data,
    )  # fmt: skip
    return id
