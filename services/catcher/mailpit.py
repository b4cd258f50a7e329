"""Letters as the JSON of Mailpit's interface, which the official tools and many projects' tests read. Pure.

Source: Mailpit's public description of its interface, version 1.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from services.catcher.letter import Letter, Mailbox, Part
from services.catcher.mailbox import CaughtMail


def list_json(mail: CaughtMail, found: Sequence[Letter], start: int, limit: int) -> dict[str, object]:
    """Give a page of a list: `total` and `unread` are of all letters, `messages_count` of those found."""
    page = found[start : start + limit]
    unread = sum(not mail.is_read(letter.id) for letter in found)
    return {
        "total": len(mail),
        "unread": mail.unread,
        "count": len(page),
        "messages_count": len(found),
        "messages_unread": unread,
        "start": start,
        "tags": [],
        "messages": [_summary(letter, mail.is_read(letter.id)) for letter in page],
    }


def letter_json(letter: Letter) -> dict[str, object]:
    """Give the whole of a letter."""
    return {
        **_addresses(letter),
        "ReturnPath": letter.sender,
        "Subject": letter.subject,
        "ListUnsubscribe": {"Header": "", "Links": [], "Errors": "", "HeaderPost": ""},
        "Date": _time(letter.date),
        "Tags": [],
        "Text": letter.text,
        "HTML": letter.html,
        "Size": len(letter.raw),
        "Inline": [_part(part) for part in letter.parts if part.is_inline],
        "Attachments": [_part(part) for part in letter.attachments],
    }


def headers_json(letter: Letter) -> dict[str, list[str]]:
    """Give every header with all its values."""
    headers: dict[str, list[str]] = {}
    for name, value in letter.headers:
        headers.setdefault("-".join(word.capitalize() for word in name.split("-")), []).append(value)
    return headers


def info_json(mail: CaughtMail) -> dict[str, object]:
    """Give what the server tells of itself."""
    return {
        "Version": "headwater",
        "LatestVersion": "",
        "Database": "memory",
        "DatabaseSize": mail.size_bytes,
        "Messages": len(mail),
        "Unread": mail.unread,
        "Tags": {},
    }


def _summary(letter: Letter, is_read: bool) -> dict[str, object]:
    return {
        **_addresses(letter),
        "Read": is_read,
        "Subject": letter.subject,
        "Created": _time(letter.received),
        "Tags": [],
        "Size": len(letter.raw),
        "Attachments": len(letter.attachments),
        "Snippet": letter.snippet,
    }


def _addresses(letter: Letter) -> dict[str, object]:
    return {
        "ID": letter.id,
        "MessageID": letter.message_id,
        "From": _box(letter.source[0]),
        "To": [_box(box) for box in letter.to],
        "Cc": [_box(box) for box in letter.cc],
        "Bcc": [_box(box) for box in letter.bcc],
        "ReplyTo": [_box(box) for box in letter.reply_to],
    }


def _box(box: Mailbox) -> dict[str, str]:
    return {"Name": box.name, "Address": box.address}


def _part(part: Part) -> dict[str, object]:
    return {
        "PartID": part.id,
        "FileName": part.file_name,
        "ContentType": part.content_type,
        "ContentID": part.content_id,
        "Size": part.size_bytes,
    }


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
