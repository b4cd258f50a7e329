"""An assertion -> the user's id, email address and claims. Pure.

The mapping of a provider says which attributes become which claims:

    {"keys": {"<claim>": {"name": "...", "names": ["...", ...], "default": ..., "array": true}}}

Source: docs/reference/auth.md, sections 11.4 and 13.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from workers.auth.federation.saml.assertion import SamlAssertion
from workers.auth.federation.saml.service_provider import EMAIL_FORM, TRANSIENT
from workers.auth.model.error_codes import ErrorCode
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
"""Claims that no mapping can set: they come from elsewhere."""
_STANDARD = frozenset(
    {
        "aud", "name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
        "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at", "phone", "full_name", "avatar_url",
        "user_name", "slug",
    }
)  # fmt: skip


class ClaimSource(Struct, frozen=True, omit_defaults=True):
    """The source of a claim: the first attribute that is present, else the default."""

    name: str = ""
    names: tuple[str, ...] = ()
    default: object = None
    array: bool = False


class AttributeMapping(Struct, frozen=True, omit_defaults=True):
    """Which attributes become which claims."""

    keys: dict[str, ClaimSource] = {}


def user_id(assertion: SamlAssertion) -> str:
    """Return the permanent id of the user: the subject id, or a NameID that is not transient. Raises: AuthError (400)."""
    id = next(_values(assertion, (_SUBJECT_ID,)), "")
    if not id and assertion.name_id_format != TRANSIENT:
        is_address = assertion.name_id_format == EMAIL_FORM
        id = assertion.name_id.lower() if is_address else assertion.name_id
    if not 0 < len(id) <= _MOST_USER_ID:
        raise AuthError(
            ErrorCode.SAML_ASSERTION_NO_USER_ID,
            "SAML assertion did not contain a persistent Subject Identifier attribute or Subject NameID uniquely "
            "identifying this user",
        )
    return id


def email(assertion: SamlAssertion, claims: Mapping[str, object]) -> str:
    """Return the user's email address: the mapped claim, a common attribute, or the NameID. Raises: AuthError (400)."""
    mapped = claims.get("email")
    if isinstance(mapped, str) and mapped:
        return mapped
    address = next(_values(assertion, _EMAILS), "")
    if not address and assertion.name_id_format == EMAIL_FORM:
        address = assertion.name_id
    if not address:
        raise AuthError(ErrorCode.SAML_ASSERTION_NO_EMAIL, "SAML assertion does not contain an email address")
    return address


def mapped_claims(assertion: SamlAssertion, mapping: AttributeMapping) -> Metadata:
    """Return the claims that a provider's mapping derives from the attributes."""
    claims: Metadata = {}
    for target, source in mapping.keys.items():
        values = tuple(_values(assertion, (source.name, *source.names)))
        if values:
            claims[target] = list(values) if source.array else values[0]
        elif source.default is not None:
            claims[target] = source.default
    return claims


def profile(claims: Mapping[str, object], *, issuer: str) -> Metadata:
    """Return the stored claims without id and address: standard ones at the top, all others below `custom_claims`."""
    top = {name: value for name, value in claims.items() if name in _STANDARD}
    custom = {name: value for name, value in claims.items() if name not in _STANDARD | _OURS}
    return {**top, **({"custom_claims": custom} if custom else {}), "iss": issuer}


def _values(assertion: SamlAssertion, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of attributes by name or friendly name, in the order of the names."""
    for name in names:
        for attribute in assertion.attributes:
            if name and name in (attribute.name, attribute.friendly_name):
                yield from attribute.values
