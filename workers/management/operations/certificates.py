"""Operations on the gateway's certificate by ACME: how it stands, and renew it now.

Edges order certificates and alone have their keys. The edge that leads reports into an entry of the bucket `CERTIFICATES`, and looks every
ten seconds for a request in another one.
"""

import time
from typing import Literal

import msgspec
from msgspec import Struct

from broker.jetstream.api import REQUEST_S, decode_ack
from broker.nats.connection import NoResponders
from broker.subjects import CERTIFICATE_RENEWAL_SUBJECT, CERTIFICATE_REPORT_READING
from schemas.certificate_status import CertificateReport, RenewalRequest
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_SILENT_S = 180.0
"""A report that is older was left by edges that are gone: the leading one writes it once a minute."""
_LEAST_AGE_S = 3600.0
"""Age of a certificate before it can be renewed by hand: authorities issue few for the same names in a week."""

_BACKDATED_S = 3600.0
"""Seconds by which authorities date certificates back, at most."""

CertificateState = Literal["off", "missing", "ordering", "good", "failing", "ended", "silent"]


class CertificateOverview(Struct, frozen=True):
    """The gateway's certificate by ACME.

    `state`: off (no edge reported one: `certificates.domains` is empty); missing (none was issued yet); ordering (an order runs); good;
    failing (the last order failed, the present certificate serves); ended; silent (the edges that reported are gone). `report`: null while
    it is off.
    """

    state: CertificateState
    report: CertificateReport | None = None


async def read_overview(context: OperationContext, arguments: NoArguments) -> CertificateOverview:
    """Return how the certificate stands."""
    del arguments
    report = await _read_report(context)
    return CertificateOverview(state_of(report, time.time()), report)


def state_of(report: CertificateReport | None, now: float) -> CertificateState:
    """Return the state in one word (pure)."""
    if report is None:
        return "off"
    if now - report.reported_at > _SILENT_S:
        return "silent"
    if report.is_ordering:
        return "ordering"
    if report.names and report.not_after < now:
        return "ended"
    if report.failures:
        return "failing"
    return "good" if report.names else "missing"


async def renew(context: OperationContext, arguments: NoArguments) -> Done:
    """Request a renewal; the leading edge begins it within ten seconds, also while a failed order makes it wait."""
    del arguments
    report, now = await _read_report(context), time.time()
    state = state_of(report, now)
    if report is None or state in ("off", "silent"):
        raise ManagementError(
            409,
            "no_certificate",
            "No edge orders a certificate",
            hint="`certificates.domains` names the domains.",
        )
    if state == "ordering":
        raise ManagementError(409, "ordering", "An order runs already")
    if (
        state == "good"
        and now - report.not_before < _LEAST_AGE_S + _BACKDATED_S
        and set(report.domains) <= set(report.names)
    ):
        raise ManagementError(
            409,
            "too_young",
            "The certificate was issued within the last hour",
            hint="Authorities issue few certificates for the same names in a week.",
        )
    context.before = report
    payload = msgspec.json.encode(RenewalRequest(now))
    reply = await context.pools.connection.request(CERTIFICATE_RENEWAL_SUBJECT, payload, REQUEST_S)
    if (fault := decode_ack.decode(reply.payload).error) is not None:
        raise ManagementError(
            503, "unavailable", f"The broker did not store the request: {fault.description}"
        )
    return Done()


async def _read_report(context: OperationContext) -> CertificateReport | None:
    """Return the last report; None without one. Raises: ManagementError (503) without a broker; Unavailable."""
    try:
        reply = await context.pools.connection.request(CERTIFICATE_REPORT_READING, b"", REQUEST_S)
    except NoResponders:  # no edge has created the bucket
        return None
    try:
        return msgspec.json.decode(reply.payload, type=CertificateReport) if reply.payload else None
    except msgspec.MsgspecError:  # of another version
        return None


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("certificates.show", "The gateway's certificate by ACME: names, dates, the next renewal, the last error", NoArguments, CertificateOverview, Right.READER, read_overview),
        Operation("certificates.renew", "Renew the gateway's certificate by ACME now", NoArguments, Done, Right.OWNER, renew, changes=True, is_confirmed=True),
    ]  # fmt: skip
