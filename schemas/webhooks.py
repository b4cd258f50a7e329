"""Webhooks of the platform: what one sends where, shared by the operations that make them and the pool that delivers (docs/webhooks.md).

A webhook is a row of `headwater.webhooks`. Its address, headers and signing secrets are one sealed text in it (`WebhookTarget`), under
the id of the webhook. Pure.
"""

import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Literal, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from schemas.keys.sealing_keys import sealing_keys, signing_secrets
from schemas.keys.secret_record import SecretRecord
from schemas.keys.text_sealer import TextSealer
from schemas.realtime import FilterCondition
from schemas.row_filters import operand_key
from schemas.settings.auth import Auth

WebhookSource = Literal["rows", "storage", "auth"]
ROW_EVENTS = ("insert", "update", "delete", "truncate")
STORAGE_EVENTS = ("object_created", "object_removed", "object_updated", "bucket_created", "bucket_deleted")
AUTH_EVENTS = ("user_created", "user_updated", "user_deleted")
EVENTS: Mapping[WebhookSource, tuple[str, ...]] = {
    "rows": ROW_EVENTS,
    "storage": STORAGE_EVENTS,
    "auth": AUTH_EVENTS,
}
"""What may be chosen of each source."""
CHANNEL = "headwater_webhooks"
"""Channel of notifications: webhooks or deliveries have changed."""

SECRET_PREFIX = "whsec_"  # noqa: S105 - a prefix
_SECRET_BYTES = range(24, 65)
_NEW_SECRET_BYTES = 32
_PURPOSE = b"headwater webhook targets 1"
_MOST_FILTERS, _MOST_OPERANDS, _LONGEST_FILTER = 16, 100, 4096
_FILTER = re.compile(
    r"(?P<column>[^=]{1,63})=(?P<negated>not\.)?(?P<op>eq|neq|lt|lte|gt|gte|in|is)\.(?P<operand>.*)",
    re.DOTALL,
)
_URL = re.compile(r"https?://[\x21-\x7e]{1,4000}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]{0,4096}")
_MOST_HEADERS = 32
_OWN_HEADERS = frozenset(
    (
        "content-type",
        "content-length",
        "transfer-encoding",
        "host",
        "connection",
        "expect",
        "te",
        "trailer",
        "upgrade",
        "user-agent",
    )
)
_NUMBERS = frozenset(("int2", "int4", "int8", "numeric", "float4", "float8"))
_TEXTS = frozenset(("text", "varchar"))
_EQUALITIES = frozenset(("eq", "neq", "in"))
_IS_OPERANDS = ("null", "true", "false")


class InvalidWebhook(ValueError):
    """A webhook, its filter or its target cannot be as it was given. The text says why and names no secret."""


class WebhookTarget(SecretRecord, Struct, frozen=True):
    """Where a webhook sends, and what its requests are signed with."""

    url: str
    secrets: list[str]
    """`whsec_` and base64, the present one first; the one before it signs too, until `former_until`."""
    headers: dict[str, str] = {}
    former_until: float = 0.0
    """Seconds since 1970 until when the second secret signs."""


class WebhookFilterColumn(Struct, frozen=True):
    """A column that a filter names: its type as `pg_type.typname`, and whether that is an enum."""

    name: str
    type: str
    is_enum: bool = False


def target_sealer(auth: Auth) -> TextSealer:
    """Return the encryption of targets."""
    return TextSealer(_PURPOSE, tuple(signing_secrets(auth)), tuple(sealing_keys(auth)))


def seal_target(sealer: TextSealer, webhook: str, target: WebhookTarget) -> str:
    """Encrypt the target of a webhook by its id."""
    return sealer.seal(webhook, msgspec.json.encode(target).decode())


def open_target(sealer: TextSealer, webhook: str, sealed: str) -> WebhookTarget | None:
    """Decrypt the target of a webhook; None if its key is not configured."""
    text = sealer.open(webhook, sealed)
    return None if text is None else msgspec.json.decode(text, type=WebhookTarget)


def new_secret() -> str:
    """Return a new signing secret. Source: standardwebhooks.com, "Signature scheme"."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_NEW_SECRET_BYTES)).decode()


def check_secret(text: str) -> str:
    """Return a signing secret that was chosen by a person. Raises: InvalidWebhook."""
    bare = text.removeprefix(SECRET_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or len(key) not in _SECRET_BYTES:
        raise InvalidWebhook(
            f"A secret is {SECRET_PREFIX} and the base64 of 24 to 64 bytes; leave it out and one is made"
        )
    return text


def check_url(text: str) -> str:
    """Return an address that requests can be sent to. Raises: InvalidWebhook."""
    try:
        parts = urlsplit(text)
        is_valid = (
            _URL.fullmatch(text)
            and parts.hostname
            and parts.port != 0
            and "@" not in parts.netloc
            and not parts.fragment
        )
    except ValueError:
        is_valid = False
    if not is_valid:
        raise InvalidWebhook(
            "The address must be a URL such as https://example.com/hooks, without a user, a password or #"
        )
    return text


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return further headers of the requests, names in lower case. Raises: InvalidWebhook."""
    if len(headers) > _MOST_HEADERS:
        raise InvalidWebhook(f"At most {_MOST_HEADERS} headers can be added")
    checked: dict[str, str] = {}
    for name, value in headers.items():
        lowered = name.lower()
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InvalidWebhook(f"The header {name[:60]!r} has characters that a header cannot have")
        if lowered in _OWN_HEADERS or lowered.startswith("webhook-") or lowered in checked:
            raise InvalidWebhook(f"The header {lowered} is set by the platform, or stands twice")
        checked[lowered] = value
    return checked


def check_events(source: WebhookSource, events: Sequence[str]) -> list[str]:
    """Return the events in their order, all of the source if none are given. Raises: InvalidWebhook."""
    possible = EVENTS[source]
    if unknown := sorted(set(events) - set(possible)):
        raise InvalidWebhook(f"{unknown[0][:60]!r} is no event of {source}: {', '.join(possible)}")
    return [name for name in possible if name in events] or [name for name in possible if name != "truncate"]


def read_filters(texts: Sequence[str], columns: Sequence[WebhookFilterColumn]) -> list[FilterCondition]:
    """Return the conditions of filters such as `status=eq.paid`, all of which a row must pass. Raises: InvalidWebhook."""
    if len(texts) > _MOST_FILTERS:
        raise InvalidWebhook(f"At most {_MOST_FILTERS} filters can stand beside one another")
    known = {column.name: column for column in columns}
    return [_read_filter(text, known) for text in texts]


def _read_filter(text: str, columns: Mapping[str, WebhookFilterColumn]) -> FilterCondition:
    match = _FILTER.fullmatch(text) if len(text) <= _LONGEST_FILTER else None
    if match is None:
        raise InvalidWebhook(
            f"The filter {text[:80]!r} must have the form column=operator.value; operators: eq neq lt lte gt gte in is"
        )
    column = columns.get(match["column"])
    if column is None:
        raise InvalidWebhook(f"The filter {text[:80]!r} names a column that the table has not")
    op, operand = match["op"], match["operand"]
    local = _local_of(op, column)
    if not local:
        raise InvalidWebhook(
            f"The operator {op} cannot be used on column {column.name} of type {column.type} in a webhook"
        )
    values = _operands(op, operand, text)
    if op == "is":
        values = [values[0].lower()]
        if values[0] not in _IS_OPERANDS or (values[0] != "null" and column.type != "bool"):
            raise InvalidWebhook(
                f"The filter {text[:80]!r} must test for null, or a boolean for true or false"
            )
    elif any(operand_key(local, value) is None for value in values):
        raise InvalidWebhook(f"The filter {text[:80]!r} has a value that is not of type {column.type}")
    return FilterCondition(column.name, op, values, match["negated"] is not None, column.type, local)


def _operands(op: str, operand: str, text: str) -> list[str]:
    if op != "in":
        return [operand]
    if not (operand.startswith("(") and operand.endswith(")")):
        raise InvalidWebhook(f"The filter {text[:80]!r} must name its values in parentheses: in.(a,b)")
    values = operand[1:-1].split(",")
    if not 0 < len(values) <= _MOST_OPERANDS:
        raise InvalidWebhook(f"in takes 1 to {_MOST_OPERANDS} values")
    return values


def _local_of(op: str, column: WebhookFilterColumn) -> Literal["", "number", "bool", "text", "uuid", "null"]:
    """Return how a condition is decided without SQL; empty if it cannot be (schemas/row_filters.py)."""
    if op == "is":
        return "null"
    if column.type in _NUMBERS:
        return "number"
    if column.type == "uuid":
        return "uuid"
    if op in _EQUALITIES:
        if column.type == "bool":
            return "bool"
        if column.is_enum or column.type in _TEXTS:
            return "text"
    return ""


assert set(EVENTS) == set(get_args(WebhookSource))
