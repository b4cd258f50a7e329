"""Users, identities and factors as bodies show them. Pure. Source: reference page "auth", sections 2.1 to 2.3."""

from datetime import datetime

from workers.auth.model.rows import Factor, Identity, Metadata, User
from workers.auth.model.times import iso

_TIMES = (
    "email_confirmed_at", "phone_confirmed_at", "confirmed_at", "invited_at", "confirmation_sent_at", "recovery_sent_at",
    "email_change_sent_at", "phone_change_sent_at", "reauthentication_sent_at", "last_sign_in_at", "banned_until",
    "deleted_at",
)  # fmt: skip

Shown = dict[str, object]


def user_shown(user: User) -> Shown:
    """Give the object of a user; what is null is left out."""
    shown: Shown = {
        "id": str(user.id),
        "aud": user.aud or "",
        "role": user.role or "",
        "email": user.email or "",
        "phone": user.phone or "",
    }
    for name in _TIMES:
        moment: datetime | None = getattr(user, name)
        if moment is not None:
            shown[name] = iso(moment)
    if user.email_change:
        shown["new_email"] = user.email_change
    if user.phone_change:
        shown["new_phone"] = user.phone_change
    shown["app_metadata"] = user.raw_app_meta_data or {}
    shown["user_metadata"] = user.raw_user_meta_data or {}
    if user.factors:
        shown["factors"] = [factor_shown(each) for each in user.factors]
    shown["identities"] = [identity_shown(each) for each in user.identities]
    for name in ("created_at", "updated_at"):
        moment = getattr(user, name)
        shown[name] = iso(moment) if moment is not None else None
    shown["is_anonymous"] = user.is_anonymous
    return shown


def identity_shown(identity: Identity) -> Shown:
    """Give the object of an identity."""
    shown: Shown = {
        "identity_id": str(identity.id),
        "id": identity.provider_id,
        "user_id": str(identity.user_id),
        "identity_data": identity.identity_data,
        "provider": identity.provider,
        "last_sign_in_at": _moment(identity.last_sign_in_at),
        "created_at": _moment(identity.created_at),
        "updated_at": _moment(identity.updated_at),
    }
    if identity.email:
        shown["email"] = identity.email
    return shown


def factor_shown(factor: Factor) -> Shown:
    """Give the object of a factor, without what is secret in it."""
    shown: Shown = {"id": str(factor.id)}
    if factor.friendly_name:
        shown["friendly_name"] = factor.friendly_name
    shown |= {
        "factor_type": factor.factor_type,
        "status": factor.status,
        "phone": factor.phone or "",
        "created_at": iso(factor.created_at),
        "updated_at": iso(factor.updated_at),
        "last_challenged_at": _moment(factor.last_challenged_at),
    }
    if factor.web_authn_aaguid is not None:
        shown["web_authn_aaguid"] = str(factor.web_authn_aaguid)
    if factor.last_webauthn_challenge_data is not None:
        shown["last_webauthn_challenge_data"] = factor.last_webauthn_challenge_data
    return shown


def merged(old: Metadata | None, new: Metadata) -> Metadata:
    """Merge metadata: keys that are given replace, those given as null go, others stay."""
    whole = {**(old or {}), **new}
    return {key: value for key, value in whole.items() if key not in new or value is not None}


def with_providers(metadata: Metadata | None, added: list[str]) -> Metadata:
    """Add ways in to app metadata: `providers` lists all, `provider` is the first."""
    old = (metadata or {}).get("providers")
    known = [str(each) for each in old] if isinstance(old, list) else []
    providers = list(dict.fromkeys([*known, *added]))
    return {**(metadata or {}), "provider": providers[0], "providers": providers}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
