"""The records of DNS-01: `_acme-challenge.<domain>` with a TXT record, written by the operator's program or by RFC 2136, and removed again.

This runs in the process of an order. Records that could not be removed are reported and do no harm: their value is used once.
"""

import base64
import contextlib
import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.certificates.dns_hook import HookWriter
from services.certificates.dns_update import UpdateWriter
from services.certificates.model import NOT_REMOVED, ChallengeAnswer, DnsMethod

_LABEL = "_acme-challenge"


class DnsFailed(Exception):
    """A record could not be written, with the reason."""


@dataclass(frozen=True, slots=True)
class DnsRecord:
    """A TXT record: `name` without a dot at its end, and the domain that it proves."""

    name: str
    value: str
    domain: str


class RecordWriter(Protocol):
    """Writes and removes a record, one after the other. Raises: OSError with the reason as its text."""

    def present(self, name: str, value: str, domain: str) -> None:
        """Add a TXT record beside others of its name."""

    def remove(self, name: str, value: str, domain: str) -> None:
        """Remove that TXT record alone."""


def record_of(answer: ChallengeAnswer) -> DnsRecord:
    """Return the record that proves a domain. Source: RFC 8555, 8.4."""
    digest = hashlib.sha256(answer.key_authorization.encode()).digest()
    value = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return DnsRecord(f"{_LABEL}.{answer.domain}", value, answer.domain)


@contextlib.contextmanager
def presented(method: DnsMethod, answers: Sequence[ChallengeAnswer]) -> Iterator[None]:
    """Write the records, wait until they have spread, and remove them in the end. Raises: DnsFailed."""
    records = [record_of(answer) for answer in answers]
    writer = _writer(method) if records else None
    written: list[DnsRecord] = []
    try:
        for record in records:
            assert writer is not None
            written.append(record)  # before it is written: one that failed half-way is removed as well
            try:
                writer.present(record.name, record.value, record.domain)
            except OSError as error:
                raise DnsFailed(f"{record.domain} by dns-01: {error}") from None
        if records:
            time.sleep(method.wait_s)  # until the name servers of the zone have the record
        yield
    finally:
        for record in written:
            assert writer is not None
            try:
                writer.remove(record.name, record.value, record.domain)
            except OSError as error:
                print(f"{record.name} {NOT_REMOVED} {error}", file=sys.stderr)


def _writer(method: DnsMethod) -> RecordWriter:
    if method.hook:
        return HookWriter(method.hook, method.hook_timeout_s)
    return UpdateWriter(method.server, method.key_name, method.key_algorithm, method.key_secret)
