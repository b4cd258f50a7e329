"""E-mail addresses and phone numbers. Reference, sections 4.1 and 18.4."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.model.addresses import (
    normal_email,
    normal_phone,
    reject_reserved,
    reject_unauthorized,
)
from workers.auth.model.errors import AuthError


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("user@example.com", "user@example.com"),
        ("User.Name+Tag@Example.COM", "user.name+tag@example.com"),
        ("o'brien@mail.co.uk", "o'brien@mail.co.uk"),
        ("root@localhost", "root@localhost"),
        ("a@xn--bcher-kva.example", "a@xn--bcher-kva.example"),
        ("!#$%&'*+/=?^_`{|}~-@a.b", "!#$%&'*+/=?^_`{|}~-@a.b"),
        ("a@1.2", "a@1.2"),
    ],
)
def test_an_address_is_kept_in_lower_case(text: str, kept: str) -> None:
    assert normal_email(text) == kept


BAD_FORMAT = "Unable to validate email address: invalid format"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "An email address is required"),
        ("a" * 250 + "@b.com", "An email address is too long"),
        ("plain", BAD_FORMAT),
        ("a@", BAD_FORMAT),
        ("@b.com", BAD_FORMAT),
        ("a@b@c.com", BAD_FORMAT),
        (" a@b.com", BAD_FORMAT),
        ("a@b.com ", BAD_FORMAT),
        ("a@b.com\n", BAD_FORMAT),
        ("a@b.com\r\nBcc: x@y.z", BAD_FORMAT),
        ("a b@c.com", BAD_FORMAT),
        ("a@b..com", BAD_FORMAT),
        ("a@-b.com", BAD_FORMAT),
        ("a@b-.com", BAD_FORMAT),
        ("a@b_c.com", BAD_FORMAT),
        ("a@" + "b" * 64 + ".com", BAD_FORMAT),
        ("ü@b.com", BAD_FORMAT),
        ("a@bücher.de", BAD_FORMAT),
        ("\u212a@b.com", BAD_FORMAT),
        ('"a b"@c.com', BAD_FORMAT),
        ("Name <a@b.com>", BAD_FORMAT),
        ("a@[127.0.0.1]", BAD_FORMAT),
        ("a,b@c.com", BAD_FORMAT),
        ("a\0@b.com", BAD_FORMAT),
    ],
)
def test_what_is_no_address_is_refused(text: str, message: str) -> None:
    with pytest.raises(AuthError) as refused:
        normal_email(text)

    assert (refused.value.status, refused.value.code.value, refused.value.message) == (
        400,
        "validation_failed",
        message,
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("+4915112345678", "4915112345678"),
        ("4915112345678", "4915112345678"),
        ("+1 555 010 9999", "15550109999"),
        (" 49151", "49151"),
        ("12", "12"),
        ("+123456789012345", "123456789012345"),
    ],
)
def test_a_number_is_kept_without_its_plus(text: str, kept: str) -> None:
    assert normal_phone(text) == kept


@pytest.mark.parametrize(
    "text",
    ["", "+", "1", "0123", "+0123", "++49151", " +49151", "1234567890123456", "49-151", "(49)151", "49151x", "٤٩١٥١",
     "49151\n", "4\t9151", "+49 151\u00a05", "²³"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(AuthError) as refused:
        normal_phone(text)

    assert (refused.value.status, refused.value.code.value) == (400, "validation_failed")
    assert refused.value.message == "Invalid phone number format (E.164 required)"


@given(st.text(max_size=40) | st.from_regex(r"[A-Za-z.+-]{1,10}@[A-Za-z-]{1,10}\.[a-z]{2,3}", fullmatch=True))
def test_any_text_is_an_address_that_stays_itself_or_is_refused(text: str) -> None:
    kept = _outcome(normal_email, text)

    assert kept is None or (kept == text.lower() == normal_email(kept) and kept.isascii() and " " not in kept)


@given(st.text(max_size=25) | st.from_regex(r"\+?[0-9 ]{1,20}", fullmatch=True))
def test_any_text_is_a_number_that_stays_itself_or_is_refused(text: str) -> None:
    kept = _outcome(normal_phone, text)

    assert kept is None or (re.fullmatch(r"[1-9][0-9]{1,14}", kept) and normal_phone(f"+{kept}") == kept)


@pytest.mark.parametrize(
    "host",
    [
        "example.com", "mail.example.org", "example.net", "a.test", "b.invalid", "c.example", "x.local", "localhost",
        "a.localhost",
    ],
)  # fmt: skip
def test_hosts_without_mail_are_refused_when_asked_for(host: str) -> None:
    with pytest.raises(AuthError) as refused:
        reject_reserved(f"user@{host}")

    assert (refused.value.status, refused.value.code.value) == (400, "email_address_invalid")


@pytest.mark.parametrize("host", ["company.com", "notexample.com", "test.com", "example.com.de", "local.net"])
def test_other_hosts_are_not_reserved(host: str) -> None:
    reject_reserved(f"user@{host}")


@pytest.mark.parametrize("email", ["dev@team.io", "dev+label@team.io", "dev+a+b@team.io"])
def test_mail_goes_to_listed_addresses_whatever_their_label(email: str) -> None:
    reject_unauthorized(email, ["Dev@team.io"])


def test_mail_goes_to_no_other_address_when_there_is_a_list() -> None:
    reject_unauthorized("anyone@else.io", [])
    with pytest.raises(AuthError) as refused:
        reject_unauthorized("anyone@else.io", ["dev@team.io"])

    assert (refused.value.status, refused.value.code.value) == (400, "email_address_not_authorized")


def _outcome(normal: Callable[[str], str], text: str) -> str | None:
    try:
        return normal(text)
    except AuthError:
        return None
