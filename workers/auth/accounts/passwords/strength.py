"""Password rules: length, characters, and the list of leaked passwords.

Only the first five hex digits of the password's SHA-1 are sent to the list; the rest is compared here, so neither the
password nor its whole hash leaves this process. Source: docs/reference/auth.md, sections 4.1, 4.2 and 19.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from schemas.settings.auth import PASSWORD_REQUIREMENTS, Auth
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, WeakPassword

_PREFIX = 5

RangeQuery = Callable[[str], Awaitable[str]]
"""Queries the list: five upper-case hex digits -> lines `REST:COUNT`. Raises LeakedListUnavailable."""


class LeakedListUnavailable(Exception):
    """The list of leaked passwords did not answer, or not in its format."""


@dataclass(frozen=True, slots=True)
class StrengthRules:
    """The rules of the settings. The minimum counts characters, the maximum bytes."""

    least_length: int = 6
    most_bytes: int = 72
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Weakness:
    """What a password lacks: a sentence for users, and the reasons as words (`length`, `characters`, `pwned`)."""

    message: str
    reasons: tuple[str, ...]

    def error(self) -> WeakPassword:
        """Return the error for the client (422)."""
        return WeakPassword(self.message, self.reasons)


def rules_of(auth: Auth) -> StrengthRules:
    """Return the rules of the settings: the sets of `password_requirements`, then those of `required_characters`."""
    sets = (*PASSWORD_REQUIREMENTS[auth.password_requirements], *auth.password.required_characters)
    required = tuple(dict.fromkeys(filter(None, sets)))
    return StrengthRules(auth.minimum_password_length, auth.password.max_length, required)


def reject_unusable(password: str, rules: StrengthRules) -> None:
    """Raise if a password is empty, or longer than the settings allow.

    Raises: AuthError (400).
    """
    if not password:
        raise rejections.NO_PASSWORD()
    if len(password.encode(errors="surrogatepass")) > rules.most_bytes:
        raise rejections.LONG_PASSWORD(most=rules.most_bytes)


def weakness_of(password: str, rules: StrengthRules, *, is_leaked: bool = False) -> Weakness | None:
    """Return what a password lacks; None if it is strong enough."""
    sentences: dict[str, str] = {}
    if len(password) < rules.least_length:
        sentences["length"] = f"Password should be at least {rules.least_length} characters."
    if not all(any(character in characters for character in password) for characters in rules.required):
        listed = ", ".join(rules.required)
        sentences["characters"] = f"Password should contain at least one character of each: {listed}."
    if is_leaked:
        sentences["pwned"] = "Password is known to be weak and easy to guess, please choose a different one."
    return Weakness(" ".join(sentences.values()), tuple(sentences)) if sentences else None


async def is_leaked(password: str, ask: RangeQuery, *, fail_closed: bool) -> bool:
    """Return whether a password is on the list. If the list is unavailable: False, or with `fail_closed` an error.

    Raises: AuthError (500) if the list is unavailable and `fail_closed` is set.
    """
    digest = hashlib.sha1(password.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest().upper()
    try:
        return _is_listed(await ask(digest[:_PREFIX]), digest[_PREFIX:])
    except LeakedListUnavailable:
        if not fail_closed:
            return False
        message = "Unable to check whether the password is known to have leaked"
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, message) from None


def _is_listed(answer: str, rest: str) -> bool:
    """Return whether a response contains the rest of a hash. Lines with count 0 are padding."""
    for line in answer.split():
        suffix, colon, count = line.partition(":")
        if not (colon and count.isascii() and count.isdigit()):
            raise LeakedListUnavailable("a line of the answer is not of the form REST:COUNT")
        if suffix.upper() == rest:
            return count.strip("0") != ""
    return False
