"""Email addresses and phone numbers: parsed into the form in which they are stored. Pure.

Sources: docs/reference/auth.md, sections 4.1, 5.8 and 18.4; HTML Living Standard, "valid e-mail address"; E.164.
"""

import re
from collections.abc import Collection

from workers.auth.model import rejections

_MAX_EMAIL = 255
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*")
_PHONE = re.compile(r"[1-9][0-9]{1,14}")
_LABEL_OF_BOX = re.compile(r"\+[^@]*(?=@)")

_RESERVED_HOSTS = ("example.com", "example.net", "example.org")
_RESERVED_ENDINGS = ("test", "example", "invalid", "local", "localhost")


def normal_email(text: str) -> str:
    """Return an email address as it is stored: in lower case.

    Raises: AuthError (400) if it is not valid.
    """
    if not text:
        raise rejections.NO_EMAIL()
    if len(text) > _MAX_EMAIL:
        raise rejections.LONG_EMAIL()
    if not _EMAIL.fullmatch(text):
        raise rejections.BAD_EMAIL()
    return text.lower()


def normal_phone(text: str) -> str:
    """Return a phone number as it is stored: E.164 without its `+`, blanks removed.

    Raises: AuthError (400) if it is not valid.
    """
    digits = text.removeprefix("+").replace(" ", "")
    if not _PHONE.fullmatch(digits):
        raise rejections.BAD_PHONE()
    return digits


def reject_reserved(email: str) -> None:
    """Raise if the address's host is a reserved name that cannot receive mail (RFC 2606). `email` is normalised.

    Raises: AuthError (400).
    """
    host = email.rpartition("@")[2]
    ending = host.rpartition(".")[2]
    if ending in _RESERVED_ENDINGS or any(
        host == reserved or host.endswith(f".{reserved}") for reserved in _RESERVED_HOSTS
    ):
        raise rejections.RESERVED_EMAIL(email=email)


def reject_unauthorized(email: str, authorized: Collection[str]) -> None:
    """Raise if emails may only go to listed addresses and this one is not listed; a `+label` is ignored.

    Raises: AuthError (400).
    """
    if not authorized:
        return
    bare = _LABEL_OF_BOX.sub("", email)
    if bare not in {allowed.lower() for allowed in authorized} and email not in authorized:
        raise rejections.EMAIL_NOT_AUTHORIZED(email=email)
