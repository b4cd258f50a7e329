"""Users, identities and factors as JSON bodies contain them. Pure. Source: docs/reference/auth.md, sections 2.1 to 2.3."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from workers.auth.model import rejections
from workers.auth.model.rows import AuthUser, Factor, Metadata, UserIdentity
from workers.auth.model.times import iso

_TIMES = (
    "email_confirmed_at", "phone_confirmed_at", "confirmed_at", "invited_at", "confirmation_sent_at", "recovery_sent_at",
    "email_change_sent_at", "phone_change_sent_at", "reauthentication_sent_at", "last_sign_in_at", "banned_until",
    "deleted_at",
)  # fmt: skip

_MOST_LEVELS = 100
"""Levels of metadata. Encoders and decoders of tokens, lists and pages follow 254 and more."""

JsonObject = dict[str, object]


def user_json(user: AuthUser) -> JsonObject:
    """Return the JSON object of a user; null members are left out."""
    body: JsonObject = {
        "id": str(user.id),
        "aud": user.aud or "",
        "role": user.role or "",
        "email": user.email or "",
        "phone": user.phone or "",
    }
    for name in _TIMES:
        moment: datetime | None = getattr(user, name)
        if moment is not None:
            body[name] = iso(moment)
    if user.email_change:
        body["new_email"] = user.email_change
    if user.phone_change:
        body["new_phone"] = user.phone_change
    body["app_metadata"] = user.raw_app_meta_data or {}
    body["user_metadata"] = user.raw_user_meta_data or {}
    if user.factors:
        body["factors"] = [factor_json(factor) for factor in user.factors]
    body["identities"] = [identity_json(identity) for identity in user.identities]
    for name in ("created_at", "updated_at"):
        moment = getattr(user, name)
        body[name] = iso(moment) if moment is not None else None
    body["is_anonymous"] = user.is_anonymous
    return body


def identity_json(identity: UserIdentity) -> JsonObject:
    """Return the JSON object of an identity."""
    body: JsonObject = {
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
        body["email"] = identity.email
    return body


def factor_json(factor: Factor) -> JsonObject:
    """Return the JSON object of a factor, without its secret."""
    body: JsonObject = {"id": str(factor.id)}
    if factor.friendly_name:
        body["friendly_name"] = factor.friendly_name
    body |= {
        "factor_type": factor.factor_type,
        "status": factor.status,
        "phone": factor.phone or "",
        "created_at": iso(factor.created_at),
        "updated_at": iso(factor.updated_at),
        "last_challenged_at": _moment(factor.last_challenged_at),
    }
    if factor.web_authn_aaguid is not None:
        body["web_authn_aaguid"] = str(factor.web_authn_aaguid)
    if factor.last_webauthn_challenge_data is not None:
        body["last_webauthn_challenge_data"] = factor.last_webauthn_challenge_data
    return body


def merged_metadata(old: Metadata | None, new: Metadata) -> Metadata:
    """Return metadata with changes applied: members replace those of the same name, null removes one, others stay."""
    whole = {**(old or {}), **new}
    return {key: value for key, value in whole.items() if key not in new or value is not None}


def metadata_text(metadata: Metadata) -> bytes:
    """Return metadata as it is stored. Raises: AuthError (400) if it is nested deeper than every reader of it follows."""
    level: list[object] = [metadata]
    for _ in range(_MOST_LEVELS):
        level = [member for value in level for member in _members(value)]
        if not level:
            return msgspec.json.encode(metadata)
    raise rejections.DEEP_METADATA(most=str(_MOST_LEVELS))


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def with_providers(metadata: Metadata | None, added: list[str]) -> Metadata:
    """Return app metadata with providers added: `providers` lists all, `provider` is the first."""
    old = (metadata or {}).get("providers")
    listed = [str(name) for name in old] if isinstance(old, list) else []
    providers = list(dict.fromkeys([*listed, *added]))
    return {**(metadata or {}), "provider": providers[0], "providers": providers}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
