"""An assertion -> who the user is to us: his id, his address, and what else is told of him. Pure.

The mapping of a provider says which attributes become which claims:

    {"keys": {"<claim>": {"name": "...", "names": ["...", ...], "default": ..., "array": true}}}

Source: reference page "auth", sections 11.4 and 13.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from workers.auth.federation.saml.assertion import Assertion
from workers.auth.federation.saml.service_provider import EMAIL_FORM, TRANSIENT
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Metadata

_SUBJECT_ID = "urn:oasis:names:tc:SAML:attribute:subject-id"
_EMAILS = (
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "http://schemas.xmlsoap.org/claims/EmailAddress",
    "mail",
    "Mail",
    "email",
)
_MOST_USER_ID = 512
_OURS = frozenset({"sub", "provider_id", "iss", "email", "email_verified", "phone_verified", "custom_claims"})
"""What no mapping may say: it is known from elsewhere."""
_STANDARD = frozenset(
    {
        "aud", "name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
        "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at", "phone", "full_name", "avatar_url",
        "user_name", "slug",
    }
)  # fmt: skip


class Source(Struct, frozen=True, omit_defaults=True):
    """Where a claim comes from: the first of the attributes that is there, else the default."""

    name: str = ""
    names: tuple[str, ...] = ()
    default: object = None
    array: bool = False


class AttributeMapping(Struct, frozen=True, omit_defaults=True):
    """Which attributes become which claims."""

    keys: dict[str, Source] = {}


def user_id(assertion: Assertion) -> str:
    """Give what names the user for good. Raises: AuthError (400)."""
    found = next(_values(assertion, (_SUBJECT_ID,)), "")
    if not found and assertion.name_id_format != TRANSIENT:
        is_address = assertion.name_id_format == EMAIL_FORM
        found = assertion.name_id.lower() if is_address else assertion.name_id
    if not 0 < len(found) <= _MOST_USER_ID:
        raise AuthError(
            Code.SAML_ASSERTION_NO_USER_ID,
            "SAML assertion did not contain a persistent Subject Identifier attribute or Subject NameID uniquely "
            "identifying this user",
        )
    return found


def email(assertion: Assertion, claims: Mapping[str, object]) -> str:
    """Give the user's address: mapped, or of a usual attribute, or his name itself. Raises: AuthError (400)."""
    mapped = claims.get("email")
    if isinstance(mapped, str) and mapped:
        return mapped
    found = next(_values(assertion, _EMAILS), "")
    if not found and assertion.name_id_format == EMAIL_FORM:
        found = assertion.name_id
    if not found:
        raise AuthError(Code.SAML_ASSERTION_NO_EMAIL, "SAML assertion does not contain an email address")
    return found


def mapped_claims(assertion: Assertion, mapping: AttributeMapping) -> Metadata:
    """Give the claims that a provider's mapping makes of the attributes."""
    claims: Metadata = {}
    for target, source in mapping.keys.items():
        found = tuple(_values(assertion, (source.name, *source.names)))
        if found:
            claims[target] = list(found) if source.array else found[0]
        elif source.default is not None:
            claims[target] = source.default
    return claims


def profile(claims: Mapping[str, object], *, issuer: str) -> Metadata:
    """Give what is kept of the user besides his id and address: standard claims at the top, all others as custom ones."""
    top = {name: value for name, value in claims.items() if name in _STANDARD}
    custom = {name: value for name, value in claims.items() if name not in _STANDARD | _OURS}
    return {**top, **({"custom_claims": custom} if custom else {}), "iss": issuer}


def _values(assertion: Assertion, names: tuple[str, ...]) -> Iterator[str]:
    """Give the values of attributes by name, full or friendly, in the order of the names."""
    for name in names:
        for each in assertion.attributes:
            if name and name in (each.name, each.friendly_name):
                yield from each.values
