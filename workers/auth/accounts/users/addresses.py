"""E-mail addresses and phone numbers: the form in which they are kept, or why they are none. Pure.

Source: reference page "auth", sections 4.1, 5.8 and 18.4; HTML Living Standard, "valid e-mail address"; E.164.
"""

import re
from collections.abc import Collection

from workers.auth.model import rejections

_MOST_EMAIL = 255
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*")
_PHONE = re.compile(r"[1-9][0-9]{1,14}")
_LABEL_OF_BOX = re.compile(r"\+[^@]*(?=@)")

_RESERVED_HOSTS = ("example.com", "example.net", "example.org")
_RESERVED_ENDINGS = ("test", "example", "invalid", "local", "localhost")


def normal_email(text: str) -> str:
    """Give an address as it is kept: lower-case.

    Raises: AuthError (400) if it is none.
    """
    if not text:
        raise rejections.NO_EMAIL()
    if len(text) > _MOST_EMAIL:
        raise rejections.LONG_EMAIL()
    if not _EMAIL.fullmatch(text):
        raise rejections.BAD_EMAIL()
    return text.lower()


def normal_phone(text: str) -> str:
    """Give a number as it is kept: E.164 without its `+`, blanks taken out.

    Raises: AuthError (400) if it is none.
    """
    digits = text.removeprefix("+").replace(" ", "")
    if not _PHONE.fullmatch(digits):
        raise rejections.BAD_PHONE()
    return digits


def refuse_reserved(email: str) -> None:
    """Raise if nobody can have mail at the address's host. `email` is normalised.

    Raises: AuthError (400).
    """
    host = email.rpartition("@")[2]
    ending = host.rpartition(".")[2]
    if ending in _RESERVED_ENDINGS or any(
        host == each or host.endswith(f".{each}") for each in _RESERVED_HOSTS
    ):
        raise rejections.RESERVED_EMAIL(email=email)


def refuse_unauthorized(email: str, authorized: Collection[str]) -> None:
    """Raise if mail may only go to listed addresses and this is none of them; a box's `+label` does not matter.

    Raises: AuthError (400).
    """
    if not authorized:
        return
    bare = _LABEL_OF_BOX.sub("", email)
    if bare not in {each.lower() for each in authorized} and email not in authorized:
        raise rejections.EMAIL_NOT_AUTHORIZED(email=email)
