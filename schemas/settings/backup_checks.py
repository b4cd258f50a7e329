"""Checks of [backup]: values of the right type that cannot work, alone or together (pure).

An error is a sentence with the keys in braces; it never contains a secret. Secrets reach
the process `archive` alone, so whether they are there is checked by that process and by the supervisor (`missing_secret`).
"""

import base64
import binascii
from collections.abc import Iterator
from urllib.parse import urlsplit

from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.backup import Backup
from schemas.settings.storage import BACKENDS

KEY_BYTES = 32
_LEAST_WAL = 64 * 1024 * 1024
_LEAST_BASE_S = 60
_MOST_INCREMENTALS = 30


def backup_fault(backup: Backup) -> str | None:
    """Return the first error, or None."""
    return next(_faults(backup), None)


def parse_backup_key(text: str) -> bytes:
    """Return the bytes of a key. Raises: ValueError without a part of the key."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError("not a key")
    return key


def missing_secret(backup: Backup) -> str | None:
    """Return the sentence about a secret that continuous backup needs and that is not set, or None."""
    if not backup.key:
        return "backup.key must be set where backup.continuous is on: `headwater keys --backup >> .env` makes one"
    if backup.backend == "s3" and bool(backup.s3.access_key_id) is not bool(backup.s3.secret_access_key):
        return "backup.s3.access_key_id and backup.s3.secret_access_key go together: set both or none"
    return None


def backup_keys(backup: Backup) -> list[bytes]:
    """Return the key that encrypts, then those that only decrypt; empty without a key. Raises: ValueError."""
    old = backup.old_keys.reveal().split(",") if backup.old_keys else []
    texts = [backup.key.reveal() if backup.key else "", *old]
    return [parse_backup_key(text) for text in texts if text.strip()]


def _faults(backup: Backup) -> Iterator[str]:
    if backup.backend not in BACKENDS:
        yield f"{{backup.backend}} is '{backup.backend}' but must be one of {', '.join(BACKENDS)}"
    try:
        backup_keys(backup)
    except ValueError:
        yield "{backup.key} and {backup.old_keys} must be 32 random bytes in base64: `headwater keys --backup` makes one"
    if backup.path and not backup.path.startswith("/"):
        yield "{backup.path} must be an absolute path"
    if backup.wal_limit < _LEAST_WAL:
        yield "{backup.wal_limit} must be 64MiB or more"
    if backup.base_interval < _LEAST_BASE_S:
        yield f"{{backup.base_interval}} must be {_LEAST_BASE_S} seconds or more"
    if not 0 <= backup.incrementals <= _MOST_INCREMENTALS:
        yield f"{{backup.incrementals}} must be 0 to {_MOST_INCREMENTALS}"
    yield from _drill_webhook_faults(backup)
    if backup.drill not in ("", "daily", "weekly", "monthly"):
        try:
            parse_schedule(backup.drill, "GMT")
        except InvalidSchedule as error:
            yield f"{{backup.drill}} must be daily, weekly, monthly or a cron schedule: {error}"
    if not backup.continuous:
        return
    needed = {
        "file": {"path": backup.path},
        "s3": {"s3.bucket": backup.s3.bucket},
        "gcs": {"gcs.bucket": backup.gcs.bucket},
        "azure": {"azure.container": backup.azure.container, "azure.account_name": backup.azure.account_name},
    }
    for key, value in needed[backup.backend].items():
        if not value:
            yield f"{{backup.{key}}} must be set where {{backup.backend}} is {backup.backend}"
    yield from _store_faults(backup)


def _store_faults(backup: Backup) -> Iterator[str]:
    section = backup.s3 if backup.backend == "s3" else backup.azure
    if backup.backend not in ("s3", "azure") or not section.endpoint:
        return
    scheme = urlsplit(section.endpoint).scheme
    if scheme not in ("http", "https"):
        yield f"{{backup.{backup.backend}.endpoint}} must be a URL such as https://storage.example.org"
    elif scheme == "http" and not section.allow_http:
        yield f"{{backup.{backup.backend}.endpoint}} begins with http://, which {{backup.{backup.backend}.allow_http}} forbids"


def _drill_webhook_faults(backup: Backup) -> Iterator[str]:
    address, secret = backup.drill_webhook, backup.drill_webhook_secret
    if address is not None:
        try:
            parts = urlsplit(address.reveal())
            is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_usable = False
        if not is_usable:
            yield "{backup.drill_webhook} must be an address that begins with https:// or http://"
    if secret is not None:
        try:
            key = base64.b64decode(secret.reveal().removeprefix("whsec_"), validate=True)
        except ValueError:
            key = b""
        if not 24 <= len(key) <= 64:
            yield "{backup.drill_webhook_secret} must be whsec_ and the base64 of 24 to 64 bytes: `openssl rand -base64 32`"
