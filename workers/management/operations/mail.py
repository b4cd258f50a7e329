"""Operations on emails: their templates, previews, test emails, and what the mail catcher of development caught."""

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient
from workers.management.areas.settings.change import request_auth
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_MOST_CAUGHT = 200
_MOST_BYTES = 16 * 1024 * 1024
_MOST_ID = 100
_TIMEOUT_S = 5.0


class EmailTemplateDescription(Struct, frozen=True):
    """One kind of email. `settings` is the path of its settings; `source` is default, content, content_path (a file) or url."""

    kind: str
    settings: str
    is_sent: bool
    variables: list[str]
    default_subject: str
    default_html: str
    subject: str
    html: str
    """The present HTML; empty where it is in a file or fetched (`place`)."""
    source: str
    place: str


class EmailPreviewRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of email; `subject` and `content` are tried instead of those of the settings, and stored nowhere."""

    kind: str
    subject: str | None = None
    content: str | None = None


class EmailPreview(Struct, frozen=True):
    """An email with sample values. Show `html` in a sandboxed frame without scripts: a template may hold anything."""

    subject: str
    text: str
    html: str


class TestEmailRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The kind of email to send to the administrator's own address."""

    kind: str = "confirmation"


class TestEmailSent(Struct, frozen=True):
    """Where the test email went."""

    to: str


class CaughtEmailQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of caught emails, the newest first; `query` as in the pages of the mail catcher (`to:ada@example.com`)."""

    query: str = ""
    start: Annotated[int, limits.number(0, 1_000_000)] = 0
    limit: Annotated[int, limits.number(1, _MOST_CAUGHT)] = 50


class CaughtEmailSummary(Struct, frozen=True):
    """A caught email in a list. `sent_to` are the recipients."""

    id: str
    subject: str
    sent_from: str
    sent_to: list[str]
    received_at: str
    is_read: bool
    snippet: str


class CaughtEmailPage(Struct, frozen=True):
    """Caught emails; `matches` counts all that fit the query."""

    emails: list[CaughtEmailSummary]
    matches: int


class CaughtEmailReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A caught email by id."""

    id: str


class CaughtEmailBody(Struct, frozen=True):
    """A caught email. Show `html` in a sandboxed frame without scripts."""

    id: str
    subject: str
    sent_from: str
    sent_to: list[str]
    sent_at: str
    text: str
    html: str


class CaughtEmailRemoval(Struct, frozen=True, forbid_unknown_fields=True):
    """Ids of caught emails to delete; `all` deletes every one."""

    ids: list[str] = []
    all: bool = False


async def templates(context: OperationContext, arguments: NoArguments) -> list[EmailTemplateDescription]:
    """Return every kind of email with its variables, its default text and the present one."""
    del arguments
    return msgspec.convert(await request_auth(context, "/emails", {}), list[EmailTemplateDescription])


async def preview(context: OperationContext, arguments: EmailPreviewRequest) -> EmailPreview:
    """Return an email rendered with sample values, with another template if one is sent."""
    body: dict[str, object] = {"kind": arguments.kind}
    tried = {"subject": arguments.subject, "content": arguments.content}
    tried = {name: text for name, text in tried.items() if text is not None}
    if tried:
        table = next(
            (t.settings for t in await templates(context, NoArguments()) if t.kind == arguments.kind), ""
        )
        other = dict.fromkeys((f"{table}.url", f"{table}.content"), "") if "content" in tried else {}
        body["values"] = (
            context.live.usable_values | other | {f"{table}.{name}": text for name, text in tried.items()}
        )
        if not table:
            raise not_found(f"email {arguments.kind[:64]}")
    return msgspec.convert(await request_auth(context, "/preview", body), EmailPreview)


async def send_test(context: OperationContext, arguments: TestEmailRequest) -> TestEmailSent:
    """Send an email with sample values to the administrator of this session, by the present mail server. Ten an hour."""
    actor = context.actor
    if actor.administrator_id is None or "@" not in actor.name:
        raise ManagementError(
            409, "no_address", "A token has no address; sign in as an administrator to send a test email"
        )
    body = {"kind": arguments.kind, "to": actor.name, "limit_key": actor.administrator_id}
    await request_auth(context, "/send-test", body)
    return TestEmailSent(actor.name)


async def caught(context: OperationContext, arguments: CaughtEmailQuery) -> CaughtEmailPage:
    """Return emails that the mail catcher of development caught instead of sending them."""
    if not 0 <= arguments.start <= 1_000_000 or not 1 <= arguments.limit <= _MOST_CAUGHT:
        raise invalid_arguments(f"`start` must be 0 or more, `limit` 1 to {_MOST_CAUGHT}")
    query = quote(arguments.query[:1000], safe="")
    page = await _catcher(
        context, "GET", f"/api/v1/search?query={query}&start={arguments.start}&limit={arguments.limit}"
    )
    emails = [
        CaughtEmailSummary(
            email["ID"],
            email["Subject"],
            email["From"]["Address"],
            [box["Address"] for box in email["To"]],
            email["Created"],
            email["Read"],
            email["Snippet"],
        )
        for email in page["messages"]
    ]
    return CaughtEmailPage(emails, page["messages_count"])


async def read_caught(context: OperationContext, arguments: CaughtEmailReference) -> CaughtEmailBody:
    """Return one caught email with its bodies."""
    email = await _catcher(context, "GET", f"/api/v1/message/{_id(arguments.id)}")
    return CaughtEmailBody(
        email["ID"],
        email["Subject"],
        email["From"]["Address"],
        [box["Address"] for box in email["To"]],
        email["Date"],
        email["Text"],
        email["HTML"],
    )


async def delete_caught(context: OperationContext, arguments: CaughtEmailRemoval) -> Done:
    """Delete caught emails."""
    if bool(arguments.ids) is arguments.all:
        raise invalid_arguments("Name `ids`, or set `all` to true")
    for id in arguments.ids:
        _id(id)
    await _catcher(context, "DELETE", "/api/v1/messages", {"IDs": arguments.ids})
    return Done()


def _id(text: str) -> str:
    if not 1 <= len(text) <= _MOST_ID or not text.isascii() or not text.isalnum():
        raise not_found(f"caught email {text[:_MOST_ID]!r}")
    return text


async def _catcher(context: OperationContext, method: str, path: str, body: object = None) -> Any:
    """Send a request to the mail catcher, which listens on loopback of the machine of the edges. Raises: ManagementError."""
    inbox = context.configuration.inbucket
    if not inbox.enabled:
        raise ManagementError(
            409,
            "no_mail_catcher",
            "The mail catcher is off",
            hint="inbucket.enabled switches it on at the next start.",
        )
    client = HttpClient()
    login = {"authorization": f"Bearer {inbox.key.reveal()}"} if inbox.key else {}
    try:
        response = await client.fetch(
            method,
            f"http://127.0.0.1:{inbox.port}{path}",
            body=None if body is None else msgspec.json.encode(body),
            headers={"content-type": "application/json", **login},
            timeout_s=_TIMEOUT_S,
            most_bytes=_MOST_BYTES,
        )
    except FetchFailed as error:
        raise ManagementError(
            503,
            "unavailable",
            f"The mail catcher does not answer: {error}",
            hint="It runs beside the gateway.",
        ) from None
    finally:
        await client.close()
    return _read(response)


def _read(response: FetchedResponse) -> Any:
    if response.status == 404:
        raise not_found("such caught email; the oldest ones are dropped, and all of them at a restart")
    if not response.is_ok:
        raise ManagementError(502, "unavailable", f"The mail catcher answered with status {response.status}")
    return msgspec.json.decode(response.body) if response.body[:1] in (b"{", b"[") else None


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("mail.templates", "List email templates", NoArguments, list[EmailTemplateDescription], reader, templates),
        Operation("mail.preview", "Render an email with sample values", EmailPreviewRequest, EmailPreview, reader, preview),
        Operation(
            "mail.send_test", "Send a test email to yourself", TestEmailRequest, TestEmailSent, developer, send_test, changes=True
        ),
        Operation("mail.caught", "List caught emails", CaughtEmailQuery, CaughtEmailPage, developer, caught),
        Operation("mail.read_caught", "Read a caught email", CaughtEmailReference, CaughtEmailBody, developer, read_caught),
        Operation("mail.delete_caught", "Delete caught emails", CaughtEmailRemoval, Done, developer, delete_caught, changes=True),
    ]  # fmt: skip
