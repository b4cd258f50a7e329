"""Reads documents about users, in the formats of providers, into a `ProviderUser`. Pure.

A missing member, or one of another type, reads as empty: providers leave out what a user does not share.
Source: docs/reference/auth.md, section 11.4; OpenID Connect Core 1.0, 5.1.
"""

from collections.abc import Iterable, Mapping

from workers.auth.federation.social.protocol import ProviderEmail, ProviderError, ProviderUser

Document = Mapping[str, object]

STANDARD_TEXTS = (
    "iss", "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
    "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at", "phone",
)  # fmt: skip
"""Claims that are copied under their own names."""


def member(document: object, *path: str | int) -> object:
    """Return a nested member of a document; None if a step of the path is missing."""
    for step in path:
        if isinstance(step, str) and isinstance(document, Mapping):
            document = document.get(step)
        elif isinstance(step, int) and isinstance(document, list) and -len(document) <= step < len(document):
            document = document[step]
        else:
            return None
    return document


def text(document: object, *path: str | int) -> str:
    """Return a member as text. Integers are formatted, because ids are numbers at some providers."""
    value = member(document, *path)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def items(document: object, *path: str | int) -> list[object]:
    """Return a member that is a list; else an empty list."""
    value = member(document, *path)
    return value if isinstance(value, list) else []


def flag(document: object, *path: str | int) -> bool:
    """Return whether a member is true; some providers write it as a text or a number."""
    value = member(document, *path)
    return value is True or value in ("true", "True", "1", 1)


def nonempty(**claims: object) -> dict[str, object]:
    """Return the claims that have a value."""
    return {name: value for name, value in claims.items() if value not in (None, "", {}, [])}


def join_names(*names: str) -> str:
    """Join the parts of a name that are not empty."""
    return " ".join(name for name in names if name)


def single_email(address: str, *, is_verified: bool) -> tuple[ProviderEmail, ...]:
    """Return the only address of a user, if there is one."""
    return (ProviderEmail(address, is_verified, is_primary=True),) if address else ()


def make_user(subject: str, emails: Iterable[ProviderEmail], claims: Mapping[str, object]) -> ProviderUser:
    """Return a user. Raises: ProviderError without a subject."""
    if not subject:
        raise ProviderError("Error getting user profile from external provider: it names no user")
    addresses = tuple(email for email in emails if email.address)
    return ProviderUser(subject, addresses, {**claims, "provider_id": subject})


def standard_claims(claims: Document) -> dict[str, object]:
    """Copy the claims of OpenID Connect, and add the older names that applications still read."""
    standard = {name: text(claims, name) for name in STANDARD_TEXTS}
    standard["phone"] = standard["phone"] or text(claims, "phone_number")
    name = standard["name"] or join_names(standard["given_name"], standard["family_name"])
    return nonempty(**{**standard, "name": name}, full_name=name, avatar_url=standard["picture"])


def read_openid_user(claims: Document) -> ProviderUser:
    """Read the standard claims of an ID token, or of a user-info document."""
    emails = single_email(text(claims, "email"), is_verified=flag(claims, "email_verified"))
    return make_user(text(claims, "sub"), emails, standard_claims(claims))
