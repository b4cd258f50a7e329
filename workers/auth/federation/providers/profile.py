"""Documents about users, as providers give them, read into a `ProviderUser`. Pure.

What is missing or of another kind than it should be reads as empty: providers leave out what a user does not tell.
Source: reference page "auth", section 11.4; OpenID Connect Core 1.0, 5.1.
"""

from collections.abc import Iterable, Mapping

from workers.auth.federation.social.protocol import ProviderEmail, ProviderFailed, ProviderUser

Document = Mapping[str, object]

STANDARD_TEXTS = (
    "iss", "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture",
    "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at", "phone",
)  # fmt: skip
"""Claims that are taken over under their own names."""


def member(document: object, *path: str | int) -> object:
    """Give what lies deep in a document; None where the way breaks off."""
    for step in path:
        if isinstance(step, str) and isinstance(document, Mapping):
            document = document.get(step)
        elif isinstance(step, int) and isinstance(document, list) and -len(document) <= step < len(document):
            document = document[step]
        else:
            return None
    return document


def text(document: object, *path: str | int) -> str:
    """Give a text; whole numbers are written out, since ids are numbers at some providers."""
    found = member(document, *path)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) else ""


def items(document: object, *path: str | int) -> list[object]:
    """Give a list, empty without one."""
    found = member(document, *path)
    return found if isinstance(found, list) else []


def flag(document: object, *path: str | int) -> bool:
    """Tell whether something holds; some providers write it as a text or a number."""
    found = member(document, *path)
    return found is True or found in ("true", "True", "1", 1)


def known(**claims: object) -> dict[str, object]:
    """Give the claims that say something."""
    return {name: value for name, value in claims.items() if value not in (None, "", {}, [])}


def joined(*names: str) -> str:
    """Join the parts of a name."""
    return " ".join(name for name in names if name)


def one_email(address: str, *, is_verified: bool) -> tuple[ProviderEmail, ...]:
    """Give the only address of a person, if there is one."""
    return (ProviderEmail(address, is_verified, is_primary=True),) if address else ()


def person(subject: str, emails: Iterable[ProviderEmail], claims: Mapping[str, object]) -> ProviderUser:
    """Give the person that a document describes. Raises: ProviderFailed if it names nobody."""
    if not subject:
        raise ProviderFailed("Error getting user profile from external provider: it names no user")
    addresses = tuple(each for each in emails if each.address)
    return ProviderUser(subject, addresses, {**claims, "provider_id": subject})


def standard_claims(claims: Document) -> dict[str, object]:
    """Take over the claims of OpenID Connect, with the older names that applications still read."""
    taken = {name: text(claims, name) for name in STANDARD_TEXTS}
    taken["phone"] = taken["phone"] or text(claims, "phone_number")
    name = taken["name"] or joined(taken["given_name"], taken["family_name"])
    return known(**{**taken, "name": name}, full_name=name, avatar_url=taken["picture"])


def openid_person(claims: Document) -> ProviderUser:
    """Read the standard claims of an ID token, or of a user-info document."""
    emails = one_email(text(claims, "email"), is_verified=flag(claims, "email_verified"))
    return person(text(claims, "sub"), emails, standard_claims(claims))
