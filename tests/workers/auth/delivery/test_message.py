"""Messages as they travel, and what tries to become a header."""

from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.settings.auth_delivery import Smtp
from schemas.settings.tree import SettingsError
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.message import MailSender, compose, envelope_address, read_sender
from workers.auth.delivery.templates import EmailKind, RenderedEmail

NOW = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
SENDER = MailSender("no-reply@example.org", "The Team", (("X-Kind", "mail-$messageType"), ("X-Kind", "b")))


def made(
    subject: str = "Hello", text: str = "text", html: str = "<p>html</p>", to: str = "ann@example.org"
) -> EmailMessage:
    message = compose(RenderedEmail(EmailKind.INVITE, subject, text, html), to, SENDER, now=NOW, unique="u1")
    return message_from_bytes(message.as_bytes(), policy=policy.default)


def test_message_carries_both_bodies_and_its_headers() -> None:
    message = made(text="Grüße", html="<p>Grüße</p>")

    assert message["From"] == "The Team <no-reply@example.org>"
    assert message["To"] == "ann@example.org"
    assert message["Subject"] == "Hello"
    assert message["Date"] == "Sat, 21 Nov 2026 08:30:00 +0000"
    assert message["Message-ID"] == "<u1@example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_all("X-Kind") == ["mail-invite", "b"]
    assert message.get_content_type() == "multipart/alternative"
    text, html = message.iter_parts()
    assert (text.get_content_type(), text.get_content().split()) == ("text/plain", ["Grüße"])
    assert (html.get_content_type(), html.get_content().split()) == ("text/html", ["<p>Grüße</p>"])


def test_message_is_ascii_with_short_lines() -> None:
    raw = compose(
        RenderedEmail(EmailKind.INVITE, "ü" * 300, "ü" * 3000, "x" * 3000),
        "ann@example.org",
        SENDER,
        now=NOW,
        unique="u",
    ).as_bytes()

    assert raw.isascii()
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998


@pytest.mark.parametrize(
    "subject",
    [
        "Hi\r\nBcc: eve@example.org",
        "Hi\nBcc: eve@example.org",
        "Hi\r\n\r\n<p>body",
        "Hi\x00\x0b\u2028\u0085Bcc: x",
        "\udc80\ud800",
    ],
)
def test_subject_cannot_become_a_header_or_body(subject: str) -> None:
    message = made(subject=subject)

    assert message["Bcc"] is None
    assert message["Auto-Submitted"] == "auto-generated"
    assert "\n" not in message["Subject"]


@given(st.text(max_size=400), st.text(max_size=100), st.text(max_size=100))
def test_any_email_becomes_one_message(subject: str, text: str, html: str) -> None:
    message = made(subject, text, html)

    assert sorted(message.keys()) == sorted(
        [
            "From",
            "To",
            "Subject",
            "Date",
            "Message-ID",
            "Auto-Submitted",
            "X-Kind",
            "X-Kind",
            "MIME-Version",
            "Content-Type",
        ]
    )
    assert len(list(message.iter_parts())) == 2


@pytest.mark.parametrize(
    ("address", "envelope"),
    [
        ("ann@example.org", "ann@example.org"),
        (" ann+tag@Example.org ", "ann+tag@Example.org"),
        ("ann@bücher.example", "ann@xn--bcher-kva.example"),
        ("jürgen@example.org", "jürgen@example.org"),
        ("o'neil%x@example.org", "o'neil%x@example.org"),
    ],
)
def test_address_is_given_as_servers_take_it(address: str, envelope: str) -> None:
    assert envelope_address(address) == envelope


HOSTILE = [
    "", "ann", "@example.org", "ann@", "a@b@c", "ann@example.org\r\nBcc: eve@example.org", "ann@example.org\n", "a\x00@b.c",
    "ann@example.org,eve@example.org", "ann@example.org eve@example.org", "Ann <ann@example.org>", '"a b"@example.org',
    "a\u2028b@example.org", "ann@exam\u200bple.org", "a\ud800@b.c", "a(b)@c.d", "a@[127.0.0.1]", "x" * 250 + "@example.org",
    "ann@" + "ü" * 70 + ".example", "ann@b..ü",
]  # fmt: skip


@pytest.mark.parametrize("address", HOSTILE)
def test_what_is_more_than_an_address_is_refused(address: str) -> None:
    with pytest.raises(DeliveryFailed) as caught:
        made(to=address)

    assert caught.value.cause is DeliveryCause.ADDRESS
    assert caught.value.is_permanent
    assert str(caught.value) == "the recipient's address cannot be sent to"


@given(st.text(max_size=30), st.sampled_from(["example.org", "ü.example", ""]))
def test_any_address_is_taken_or_refused(local: str, domain: str) -> None:
    try:
        address = envelope_address(f"{local}@{domain}")
    except DeliveryFailed:
        return

    assert made(to=address)["To"].addresses[0].addr_spec


def test_sender_is_read_from_the_settings() -> None:
    smtp = Smtp(
        admin_email="team@bücher.example",
        sender_name="A\r\nTeam",
        headers={"X-Tag": ["$messageType", "b"], "Reply-To": ["c@d.example"]},
    )

    assert read_sender(smtp) == MailSender(
        "team@xn--bcher-kva.example",
        "A Team",
        (("X-Tag", "$messageType"), ("X-Tag", "b"), ("Reply-To", "c@d.example")),
    )


@pytest.mark.parametrize(
    ("smtp", "words"),
    [
        (Smtp(admin_email="nobody"), "admin_email is not an e-mail address"),
        (Smtp(admin_email="a@b.c", headers={"Bcc": ["x@y.z"]}), "'Bcc' is no header that can be set"),
        (Smtp(admin_email="a@b.c", headers={"X: y": ["x"]}), "is no header that can be set"),
        (Smtp(admin_email="a@b.c", headers={"X-A": ["x\r\ny"]}), "a value of 'X-A' is not one line"),
    ],
)
def test_sender_that_cannot_be_used_is_refused(smtp: Smtp, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_sender(smtp)
