"""Emails as the JSON of Mailpit's API, which the official tools and the tests of many projects read. Pure.

Source: Mailpit's public API description, version 1.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from services.mail_catcher.emails import CaughtEmail, EmailPart, Mailbox
from services.mail_catcher.mailbox import CaughtMail


def list_json(mail: CaughtMail, matches: Sequence[CaughtEmail], start: int, limit: int) -> dict[str, object]:
    """Return a page of a list: `total` and `unread` count all emails, `messages_count` the matches."""
    page = matches[start : start + limit]
    unread = sum(not mail.is_read(email.id) for email in matches)
    return {
        "total": len(mail),
        "unread": mail.unread,
        "count": len(page),
        "messages_count": len(matches),
        "messages_unread": unread,
        "start": start,
        "tags": [],
        "messages": [_summary(email, mail.is_read(email.id)) for email in page],
    }


def email_json(email: CaughtEmail) -> dict[str, object]:
    """Return a whole email."""
    return {
        **_addresses(email),
        "ReturnPath": email.sender,
        "Subject": email.subject,
        "ListUnsubscribe": {"Header": "", "Links": [], "Errors": "", "HeaderPost": ""},
        "Date": _time(email.date),
        "Tags": [],
        "Text": email.text,
        "HTML": email.html,
        "Size": len(email.raw),
        "Inline": [_part(part) for part in email.parts if part.is_inline],
        "Attachments": [_part(part) for part in email.attachments],
    }


def headers_json(email: CaughtEmail) -> dict[str, list[str]]:
    """Return every header with all its values."""
    headers: dict[str, list[str]] = {}
    for name, value in email.headers:
        headers.setdefault("-".join(word.capitalize() for word in name.split("-")), []).append(value)
    return headers


def info_json(mail: CaughtMail) -> dict[str, object]:
    """Return the server's own information."""
    return {
        "Version": "headwater",
        "LatestVersion": "",
        "Database": "memory",
        "DatabaseSize": mail.size_bytes,
        "Messages": len(mail),
        "Unread": mail.unread,
        "Tags": {},
    }


def _summary(email: CaughtEmail, is_read: bool) -> dict[str, object]:
    return {
        **_addresses(email),
        "Read": is_read,
        "Subject": email.subject,
        "Created": _time(email.received),
        "Tags": [],
        "Size": len(email.raw),
        "Attachments": len(email.attachments),
        "Snippet": email.snippet,
    }


def _addresses(email: CaughtEmail) -> dict[str, object]:
    return {
        "ID": email.id,
        "MessageID": email.message_id,
        "From": _box(email.source[0]),
        "To": [_box(box) for box in email.to],
        "Cc": [_box(box) for box in email.cc],
        "Bcc": [_box(box) for box in email.bcc],
        "ReplyTo": [_box(box) for box in email.reply_to],
    }


def _box(box: Mailbox) -> dict[str, str]:
    return {"Name": box.name, "Address": box.address}


def _part(part: EmailPart) -> dict[str, object]:
    return {
        "PartID": part.id,
        "FileName": part.file_name,
        "ContentType": part.content_type,
        "ContentID": part.content_id,
        "Size": part.size_bytes,
    }


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
