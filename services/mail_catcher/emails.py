"""Parse the bytes of a message into an email that can be listed, searched and shown. Pure; accepts any bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

_MOST_PARTS = 200
_SNIPPET = 250


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A name and an address."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class EmailPart:
    """An attachment, or a picture that the HTML shows."""

    id: str
    file_name: str
    content_type: str
    content_id: str
    is_inline: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CaughtEmail:
    """One received email. `recipients` are those of the envelope, the only place that names blind copies."""

    id: str
    received: datetime
    sender: str
    recipients: tuple[str, ...]
    raw: bytes = field(repr=False)
    message_id: str
    subject: str
    date: datetime
    source: tuple[Mailbox, ...]
    to: tuple[Mailbox, ...]
    cc: tuple[Mailbox, ...]
    bcc: tuple[Mailbox, ...]
    reply_to: tuple[Mailbox, ...]
    text: str = field(repr=False)
    html: str = field(repr=False)
    parts: tuple[EmailPart, ...]
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def snippet(self) -> str:
        """The beginning of the text."""
        return " ".join(self.text.split())[:_SNIPPET]

    @property
    def weight_bytes(self) -> int:
        """Approximate memory of the email."""
        return len(self.raw) + 2 * (len(self.text) + len(self.html)) + 1000

    @property
    def attachments(self) -> tuple[EmailPart, ...]:
        """The parts that are not pictures of the HTML."""
        return tuple(part for part in self.parts if not part.is_inline)


def parse_email(
    id: str, raw: bytes, sender: str, recipients: tuple[str, ...], received: datetime
) -> CaughtEmail:
    """Parse a message; malformed parts are kept as far as they can be read."""
    message = message_from_bytes(raw)
    headers = _headers(message)
    texts, htmls, parts = _bodies(message)
    to, cc = _mailboxes(headers, "to"), _mailboxes(headers, "cc")
    addressed = {mailbox.address.lower() for mailbox in (*to, *cc)}
    blind = tuple(Mailbox("", address) for address in recipients if address.lower() not in addressed)
    return CaughtEmail(
        id=id,
        received=received,
        sender=sender,
        recipients=recipients,
        raw=raw,
        message_id=_first(headers, "message-id").strip("<> \t"),
        subject=_decoded(_first(headers, "subject")),
        date=_date(_first(headers, "date")) or received,
        source=_mailboxes(headers, "from") or (Mailbox("", sender),),
        to=to,
        cc=cc,
        bcc=_mailboxes(headers, "bcc") or blind,
        reply_to=_mailboxes(headers, "reply-to"),
        text="\n".join(texts),
        html="\n".join(htmls),
        parts=tuple(parts),
        headers=tuple((name, _decoded(value)) for name, value in headers),
    )


def part_content(email: CaughtEmail, part: EmailPart) -> bytes:
    """Return the content of a part, parsed from the raw message."""
    message = message_from_bytes(email.raw)
    for number, leaf in enumerate(_leaves(message), start=1):
        if str(number) == part.id:
            return _content(leaf)
    return b""


def _headers(message: Message) -> tuple[tuple[str, str], ...]:
    """Return the headers on one line each, before encoded words are decoded."""
    return tuple(
        (str(name), _without_surrogates(" ".join(str(value).split()))) for name, value in message.raw_items()
    )


def _decoded(text: str) -> str:
    """Decode encoded words (RFC 2047); what cannot be decoded stays as it is."""
    try:
        return _without_surrogates(str(make_header(decode_header(text))))
    except (ValueError, LookupError, HeaderParseError):
        return text


def _first(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _mailboxes(headers: tuple[tuple[str, str], ...], name: str) -> tuple[Mailbox, ...]:
    values = [value for key, value in headers if key.lower() == name]
    return tuple(
        Mailbox(_decoded(name_text), address) for name_text, address in getaddresses(values) if address
    )


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
        return date.astimezone(UTC) if date.tzinfo is not None else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _bodies(message: Message) -> tuple[list[str], list[str], list[EmailPart]]:
    texts: list[str] = []
    htmls: list[str] = []
    parts: list[EmailPart] = []
    for number, part in enumerate(_leaves(message), start=1):
        kind, file_name = part.get_content_type(), _decoded(_without_surrogates(part.get_filename() or ""))
        is_attached = part.get_content_disposition() == "attachment" or bool(file_name)
        if kind == "text/plain" and not is_attached:
            texts.append(_text(part))
        elif kind == "text/html" and not is_attached:
            htmls.append(_text(part))
        else:
            content_id = _without_surrogates(str(part.get("content-id", ""))).strip("<> ")
            is_inline = bool(content_id) and part.get_content_disposition() != "attachment"
            size = len(_content(part))
            parts.append(
                EmailPart(str(number), file_name or f"part-{number}", kind, content_id, is_inline, size)
            )
    return texts, htmls, parts


def _leaves(message: Message) -> Iterator[Message]:
    count = 0
    for part in message.walk():
        if not part.is_multipart():
            count += 1
            if count > _MOST_PARTS:
                return
            yield part


def _content(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _text(part: Message) -> str:
    charset = part.get_content_charset("utf-8")
    try:
        text = _content(part).decode(charset, "replace")
    except (LookupError, ValueError):  # no charset of texts
        text = _content(part).decode("utf-8", "replace")
    return _without_surrogates(text.replace("\r\n", "\n"))


def _without_surrogates(text: str) -> str:
    """Return a text whose raw bytes, if any, are decoded as UTF-8; it contains no lone surrogates."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    return raw.decode("utf-8", "replace")
