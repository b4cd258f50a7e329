"""Emails read from the bytes of messages."""

from datetime import UTC, datetime
from email.message import EmailMessage

from hypothesis import example, given
from hypothesis import strategies as st

from services.mail_catcher.emails import CaughtEmail, Mailbox, parse_email, part_content
from services.mail_catcher.mailpit import email_json, headers_json

NOW = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)


def read(raw: bytes, *recipients: str) -> CaughtEmail:
    return parse_email("id1", raw, "from@example.org", recipients, NOW)


def test_email_has_its_parts_and_addresses() -> None:
    message = EmailMessage()
    message["From"] = '"Jürgen, der Große" <j@example.org>'
    message["To"] = "Ann <ann@example.org>, bob@example.org"
    message["Subject"] = "Grüße"
    message["Date"] = "Fri, 20 Nov 2026 10:00:00 +0100"
    message["Message-ID"] = "<m1@example.org>"
    message.set_content("Text ü\nmore")
    message.add_alternative("<p>ü</p>", subtype="html")
    message.add_attachment(b"\x00\x01", maintype="application", subtype="pdf", filename="Añ.pdf")

    email = read(message.as_bytes(), "ann@example.org", "bob@example.org", "hidden@example.org")

    assert email.source == (Mailbox("Jürgen, der Große", "j@example.org"),)
    assert email.to == (Mailbox("Ann", "ann@example.org"), Mailbox("", "bob@example.org"))
    assert email.bcc == (Mailbox("", "hidden@example.org"),)
    assert (email.subject, email.message_id) == ("Grüße", "m1@example.org")
    assert email.date == datetime(2026, 11, 20, 9, tzinfo=UTC)
    assert (email.text, email.html.strip(), email.snippet) == ("Text ü\nmore\n", "<p>ü</p>", "Text ü more")
    [part] = email.attachments
    assert (part.file_name, part.content_type, part.size_bytes) == ("Añ.pdf", "application/pdf", 2)
    assert part_content(email, part) == b"\x00\x01"


def test_picture_of_the_html_is_no_attachment() -> None:
    raw = (
        b"Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<img src=cid:x>\n"
        b"--b\nContent-Type: image/png\nContent-ID: <x>\nContent-Disposition: inline; filename=x.png\n\nPNG\n--b--\n"
    )

    email = read(raw)

    assert email.attachments == ()
    assert [part.content_id for part in email.parts] == ["x"]


def test_bytes_beyond_ascii_in_headers_are_read_as_utf8() -> None:
    assert read("Subject: Grüße\n\n".encode()).subject == "Grüße"


def test_what_is_missing_is_empty() -> None:
    email = read(b"")

    assert (email.subject, email.text, email.html, email.to) == ("", "", "", ())
    assert email.source == (Mailbox("", "from@example.org"),)
    assert email.date == NOW


LINES = st.sampled_from([
    b"Subject: =?utf-8?b?_\xff?=", b"From: \x00<a@b", b"To: a@b, =?x?q?=ZZ?= <c@d>, \xff", b"Content-Type: multipart/mixed; boundary=b",
    b"--b", b"--b--", b"", b"Content-Type: text/plain; charset=utf-7", b"Content-Type: text/html; charset=base64", b"+2AA-",
    b"Content-Type: text/plain; charset=undefined", b"Content-Transfer-Encoding: base64", b"Content-Disposition: attachment; filename*=x''%ff%zz",
    b"Content-Transfer-Encoding: x-uuencode", b"Content-Disposition: inline; filename*0*=a; filename*2=b", b"Date: Mon, 99 Foo 99999 99:99:99",
    b"Message-ID: <<>>", b"Content-Type: message/rfc822", b"Content-Type: text/plain; charset*=utf-8''%00", b"Content-ID: \xed\xa0\x80", b"====", b":", b" folded",
])  # fmt: skip


NESTED = b"".join(
    b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(1000)
)


@given(st.lists(LINES | st.binary(max_size=20), max_size=14).map(b"\r\n".join), st.text(max_size=10))
@example(b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\n" * 1000, "")
@example(NESTED, "")
@example(b"Date: Fri, 31 Dec 9999 23:59:59 -2300", "")
def test_any_bytes_are_an_email(raw: bytes, recipient: str) -> None:
    email = read(raw, recipient)

    for text in (email.text, email.html, email.subject, email.snippet, email.message_id):
        text.encode()
    assert email_json(email)["ID"] == "id1"
    assert isinstance(headers_json(email), dict)
    for part in email.parts:
        assert len(part_content(email, part)) == part.size_bytes
