"""The bytes of a message -> a letter that can be listed, searched and shown. Pure; whatever arrives becomes a letter."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
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
class Part:
    """An attachment, or a picture that the HTML shows."""

    id: str
    file_name: str
    content_type: str
    content_id: str
    is_inline: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter that was caught. `recipients` are those of the envelope; blind copies show in nothing else."""

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
    parts: tuple[Part, ...]
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def snippet(self) -> str:
        """Give the beginning of the text."""
        return " ".join(self.text.split())[:_SNIPPET]

    @property
    def weight_bytes(self) -> int:
        """Give about how much memory the letter takes."""
        return len(self.raw) + 2 * (len(self.text) + len(self.html)) + 1000

    @property
    def attachments(self) -> tuple[Part, ...]:
        """Give the parts that are no pictures of the HTML."""
        return tuple(part for part in self.parts if not part.is_inline)


def read_letter(id: str, raw: bytes, sender: str, recipients: tuple[str, ...], received: datetime) -> Letter:
    """Read a message. What is malformed is shown as far as it can be."""
    message = message_from_bytes(raw)
    headers = _headers(message)
    texts, htmls, parts = _bodies(message)
    to, cc = _mailboxes(headers, "to"), _mailboxes(headers, "cc")
    named = {one.address.lower() for one in (*to, *cc)}
    blind = tuple(Mailbox("", one) for one in recipients if one.lower() not in named)
    return Letter(
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


def part_content(letter: Letter, part: Part) -> bytes:
    """Give the content of a part, read from the message anew."""
    message = message_from_bytes(letter.raw)
    for number, leaf in enumerate(_leaves(message), start=1):
        if str(number) == part.id:
            return _content(leaf)
    return b""


def _headers(message: Message) -> tuple[tuple[str, str], ...]:
    """Give the headers on one line each, words in other alphabets not decoded yet."""
    return tuple((str(name), _whole(" ".join(str(value).split()))) for name, value in message.raw_items())


def _decoded(text: str) -> str:
    """Read encoded words (RFC 2047); what cannot be read stays as it is."""
    try:
        return _whole(str(make_header(decode_header(text))))
    except (ValueError, LookupError, HeaderParseError):
        return text


def _first(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _mailboxes(headers: tuple[tuple[str, str], ...], name: str) -> tuple[Mailbox, ...]:
    values = [value for key, value in headers if key.lower() == name]
    return tuple(Mailbox(_decoded(shown), address) for shown, address in getaddresses(values) if address)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else None


def _bodies(message: Message) -> tuple[list[str], list[str], list[Part]]:
    texts: list[str] = []
    htmls: list[str] = []
    parts: list[Part] = []
    for number, part in enumerate(_leaves(message), start=1):
        kind, file_name = part.get_content_type(), _decoded(_whole(part.get_filename() or ""))
        is_attached = part.get_content_disposition() == "attachment" or bool(file_name)
        if kind == "text/plain" and not is_attached:
            texts.append(_text(part))
        elif kind == "text/html" and not is_attached:
            htmls.append(_text(part))
        else:
            content_id = _whole(str(part.get("content-id", ""))).strip("<> ")
            is_inline = bool(content_id) and part.get_content_disposition() != "attachment"
            size = len(_content(part))
            parts.append(Part(str(number), file_name or f"part-{number}", kind, content_id, is_inline, size))
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
    return _whole(text.replace("\r\n", "\n"))


def _whole(text: str) -> str:
    """Give a text whose raw bytes, if there are any, are read as UTF-8; it holds no halves of characters."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    return raw.decode("utf-8", "replace")
