"""What the edges of a deployment share through a bucket of JetStream: certificate, account, failures, challenges, and who orders.

    certificate, account, history, challenges, advice   sealed (sealing.py)
    report                                              how the certificate stands, for administrators
    renewal                                             an administrator's request to renew it
    lease                                               name of the edge that orders, and a number that it counts up

The lease keeps two edges from ordering at once. It is renewed with every look; one that has not changed for `_LEASE_S` by the clock of
the edge that looks is taken over. A write under a lost lease does no harm beyond a second order.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from broker import subjects
from broker.jetstream.key_values import KeyRevision, KeyValueBucket
from broker.nats.connection import NatsConnection
from schemas.certificate_status import CertificateReport, RenewalRequest
from schemas.keys.secret import Secret
from services.certificates.model import (
    AcmeAccount,
    ChallengeAnswer,
    IssuedCertificate,
    OrderHistory,
    RenewalAdvice,
)
from services.certificates.sealing import EntrySealer

T = TypeVar("T")
_LEASE_S = 60.0
_MOST_BYTES = 8 * 1024 * 1024
_LEASE = "lease"


class OrderLease(Struct, frozen=True):
    """Who orders. `beat` differs with every renewal."""

    holder: str
    beat: int = 0


class SharedCertificates:
    """The bucket. Methods raise Unavailable if NATS does not answer."""

    def __init__(
        self,
        connection: NatsConnection,
        secret: Secret,
        *,
        replicas: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bucket = KeyValueBucket(
            connection, subjects.CERTIFICATES_BUCKET, replicas=replicas, max_bytes=_MOST_BYTES
        )
        self._sealer = EntrySealer(secret)
        self._clock = clock
        self._seen = (0, 0.0)
        """Revision of another edge's lease, and when it was first seen."""

    async def certificate(self) -> IssuedCertificate | None:
        """Return the certificate of the deployment."""
        return await self._read("certificate", IssuedCertificate)

    async def account(self) -> AcmeAccount | None:
        """Return the account at the authority."""
        return await self._read("account", AcmeAccount)

    async def history(self) -> OrderHistory | None:
        """Return the failures since the last success."""
        return await self._read("history", OrderHistory)

    async def advice(self) -> RenewalAdvice | None:
        """Return when the authority wants the certificate to be renewed."""
        return await self._read("advice", RenewalAdvice)

    async def challenges(self) -> list[ChallengeAnswer]:
        """Return the answers that the authority may look for now."""
        return await self._read("challenges", list[ChallengeAnswer]) or []

    async def write(
        self,
        *,
        certificate: IssuedCertificate | None = None,
        account: AcmeAccount | None = None,
        history: OrderHistory | None = None,
        challenges: list[ChallengeAnswer] | None = None,
        advice: RenewalAdvice | None = None,
    ) -> None:
        """Replace the entries that are given."""
        entries = {
            "certificate": certificate,
            "account": account,
            "history": history,
            "challenges": challenges,
            "advice": advice,
        }
        for name, value in entries.items():
            if value is not None:
                await self._bucket.write(name, self._sealer.seal(name, value))

    async def write_report(self, report: CertificateReport) -> None:
        """Replace what administrators see."""
        await self._bucket.write(subjects.CERTIFICATE_REPORT_KEY, msgspec.json.encode(report))

    async def take_renewal(self) -> RenewalRequest | None:
        """Take an administrator's request, so that it is no longer there; None without one."""
        entry = await self._bucket.read(subjects.CERTIFICATE_RENEWAL_KEY)
        if entry is None:
            return None
        await self._bucket.remove(subjects.CERTIFICATE_RENEWAL_KEY)
        try:
            return msgspec.json.decode(entry.value, type=RenewalRequest)
        except msgspec.MsgspecError:
            return None

    async def take_lease(self, holder: str) -> bool:
        """Take or renew the lease; return whether this edge has it."""
        last = await self._bucket.read(_LEASE)
        lease = _lease_of(last)
        if (
            lease is not None
            and last is not None
            and lease.holder != holder
            and not self._is_stale(last.revision)
        ):
            return False
        beat = lease.beat + 1 if lease is not None else 0
        renewed = msgspec.json.encode(OrderLease(holder, beat))
        return await self._bucket.replace(_LEASE, renewed, last) is not None

    async def drop_lease(self, holder: str) -> None:
        """Leave the lease to another edge, if this edge has it."""
        lease = _lease_of(await self._bucket.read(_LEASE))
        if lease is not None and lease.holder == holder:
            await self._bucket.remove(_LEASE)

    def _is_stale(self, revision: int) -> bool:
        """Return whether another edge's lease has not been renewed for too long."""
        if revision != self._seen[0]:
            self._seen = revision, self._clock()
        return self._clock() - self._seen[1] >= _LEASE_S

    async def _read(self, name: str, kind: type[T]) -> T | None:
        entry = await self._bucket.read(name)
        return None if entry is None else self._sealer.open(name, entry.value, kind)


def _lease_of(entry: KeyRevision | None) -> OrderLease | None:
    if entry is None:
        return None
    try:
        return msgspec.json.decode(entry.value, type=OrderLease)
    except msgspec.MsgspecError:
        return None
