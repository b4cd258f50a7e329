"""Orders and renews the certificate of the gateway, in every edge; one edge at a time orders.

Every few seconds an edge

    shares    copies between the bucket and its own files, in both directions: the better certificate (it names all domains, then the
              newer one), and the newer account, advice and failures
    leads     takes or renews the lease; without it, it only shares
    asks      the authority when to renew, as often as the authority wants to be asked
    orders    if the certificate is due and no failure makes it wait, or an administrator requests it
    reports   how the certificate stands, for administrators

so a new edge has the certificate before it could order one, and a bucket that was lost is filled from the files of any edge.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

from msgspec.structs import replace

from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe, traceback_of
from schemas.certificate_status import CertificateReport
from schemas.errors import Unavailable
from schemas.settings.certificates import LETS_ENCRYPT_STAGING, Certificates
from schemas.system_errors import system_error_text
from services.certificates.certificate_facts import read_facts
from services.certificates.folder import CertificateFolder
from services.certificates.model import (
    AcmeAccount,
    AdviceRequest,
    ChallengeAnswer,
    DnsMethod,
    IssuedCertificate,
    OrderDone,
    OrderFailed,
    OrderHistory,
    OrderRequest,
    RenewalAdvice,
)
from services.certificates.observations import (
    CertificateAdviceFailed,
    CertificateAdvised,
    CertificateFilesFailed,
    CertificateIssued,
    CertificateOrdered,
    CertificateOrderFailed,
    CertificatesCrashed,
    CertificatesNotShared,
)
from services.certificates.orders import ask_advice, run_order
from services.certificates.report import report_of
from services.certificates.schedule import (
    after_failure,
    by_present_clock,
    clock_ahead,
    is_later,
    is_of_the_future,
    order_at,
)
from services.certificates.shared import SharedCertificates

_LOOK_S = 10.0
"""Seconds between two looks. A lease lasts six of them."""
_MOST_REPORTED = 10
"""Different failures that are reported until a check succeeds."""
_DAY_S = 86400.0
_REPORT_S = 60.0
_REQUEST_S = 600.0
"""Age of a request to renew beyond which it is dropped: it was made while no edge ran."""
_ASK_AGAIN_S = 3600.0
"""Seconds until the authority is asked again after the process of the question failed."""
_CANCEL_S = 1.0
"""Seconds after which a task that was cancelled is cancelled again."""


class CertificateHolder:
    """The loop of one edge. `on_change` is called when the files of the certificate have changed."""

    def __init__(
        self,
        settings: Certificates,
        folder: CertificateFolder,
        shared: SharedCertificates,
        on_change: Callable[[], object],
        *,
        now: Callable[[], float] = time.time,
        limit_s: float = 120.0,
        ca_file: str = "",
        dns: DnsMethod | None = None,
    ) -> None:
        self._settings = settings
        self._folder, self._shared, self._on_change, self._now = folder, shared, on_change, now
        self._limit_s, self._ca_file, self._dns = limit_s, ca_file, dns or DnsMethod()
        self._directory = LETS_ENCRYPT_STAGING if settings.staging else settings.directory
        self._task: asyncio.Task[None] | None = None
        self._name = ""
        self._ahead_s = self._ahead_at = 0.0
        """By how much the clock was ahead of the authority's at the last issue, and when that was by this clock. Not stored: a
        clock that was set right while no process ran must not delay a renewal."""
        self._reported: CertificateReport | None = None
        self._remove_gauges: list[Callable[[], None]] = []

    def start(self) -> None:
        """Check from now on."""
        self._remove_gauges = [
            gauge(
                "headwater_certificate_days_left",
                "Days until the gateway's certificate ends.",
                self._days_left,
            ),
            gauge(
                "headwater_certificate_order_failures",
                "Failed orders since the last certificate.",
                lambda: self._folder.read_history().failures,
            ),
        ]
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop, and leave the lease to another edge."""
        for remove in self._remove_gauges:
            remove()
        if self._task is not None:
            await _cancel(self._task)
        if self._name:
            with contextlib.suppress(Unavailable):
                await self._shared.drop_lease(self._name)

    async def check(self) -> bool:
        """Share, and order if it is time and this edge leads; return whether it ordered. Raises: Unavailable, OSError."""
        self._name = self._name or self._folder.holder_name()
        await self._share()
        if not await self._shared.take_lease(self._name):
            return False
        settings, history = self._settings, await self._history()
        facts = self._folder.facts()
        advice = await self._advice(history)
        due_at = order_at(
            facts,
            settings.domains,
            settings.renew_before,
            history,
            self._directory,
            advice,
            self._clock_ahead(),
        )
        is_requested = (
            await self._is_requested()
        )  # also taken by an order that is due, or a second one would follow
        if due_at > self._now() and not is_requested:
            await self._report()
            return False
        await self._order(history)
        await self._report()
        return True

    async def _history(self) -> OrderHistory:
        """Return the failures since the last success; those of a clock that was set back get the present time. Raises: Unavailable, OSError."""
        stored = self._folder.read_history()
        history = by_present_clock(stored, self._now())
        if history != stored:
            self._folder.write_history(history)
            await self._shared.write(history=history)
        return history

    def _clock_ahead(self) -> float:
        """Return by how many seconds the clock is ahead of the authority's, as far as this process has seen."""
        if is_of_the_future(self._ahead_at, self._now()):
            self._ahead_s = self._ahead_at = 0.0
        return self._ahead_s

    async def _is_requested(self) -> bool:
        """Return whether an administrator has requested a renewal just now."""
        request = await self._shared.take_renewal()
        return request is not None and self._now() - request.requested_at < _REQUEST_S

    async def _report(self, *, is_ordering: bool = False) -> None:
        """Tell administrators how the certificate stands: at once what has changed, else once a minute."""
        report = report_of(
            self._settings,
            self._directory,
            self._folder.facts(),
            self._folder.read_history(),
            self._folder.read_advice(),
            self._now(),
            is_ordering=is_ordering,
        )
        last = self._reported
        is_same = last is not None and replace(report, reported_at=last.reported_at) == last
        if last is None or not is_same or not 0 <= report.reported_at - last.reported_at < _REPORT_S:
            await self._shared.write_report(report)
            self._reported = report

    async def _advice(self, history: OrderHistory) -> RenewalAdvice | None:
        """Return the authority's advice about the present certificate; ask it if it is time to. Raises: Unavailable, OSError."""
        advice, certificate = self._folder.read_advice(), self._folder.read_certificate()
        facts = None if certificate is None else read_facts(certificate.chain.encode())
        if (
            certificate is None
            or facts is None
            or history.issued_by != self._directory  # another authority does not know it
            or facts.ends <= self._now()  # RFC 9773, 4.3.3: not asked about one that has ended
        ):
            return None
        if (
            advice is not None
            and advice.certificate == facts.fingerprint
            and advice.ask_again_at > self._now()
            and not is_of_the_future(advice.asked_at, self._now())
        ):
            return advice
        lease_renewal = asyncio.create_task(self._keep_lease())
        try:
            answer = await ask_advice(AdviceRequest(self._directory, certificate.chain, self._ca_file))
        finally:
            await _cancel(lease_renewal)
        if isinstance(answer, OrderFailed):
            answer = RenewalAdvice(fault=answer.reason, ask_again_at=self._now() + _ASK_AGAIN_S)
        earlier = facts.advised_at(advice)
        advice = replace(
            answer,
            certificate=facts.fingerprint,
            renew_at=earlier if answer.fault else answer.renew_at,
            asked_at=self._now(),
        )
        self._folder.write_advice(advice)
        if advice.fault:
            observe(CertificateAdviceFailed(advice.fault))
        elif advice.renew_at is not None:
            observe(CertificateAdvised(round(advice.renew_at - self._now())))
        await self._shared.write(advice=advice)
        return advice

    async def _run(self) -> None:
        """Check every few seconds; report a failure once, and again after a check that succeeded."""
        reported = set[Observation]()
        while True:
            failure: Observation
            try:
                await self.check()
            except Unavailable as error:
                failure = CertificatesNotShared(str(error))
            except OSError as error:
                failure = CertificateFilesFailed(system_error_text(error))
            except Exception as error:  # without this task no certificate is ever renewed
                failure = CertificatesCrashed(traceback_of(error))
            else:
                reported.clear()
                await asyncio.sleep(_LOOK_S)
                continue
            if failure not in reported and len(reported) < _MOST_REPORTED:
                reported.add(failure)
                observe(failure)
            await asyncio.sleep(_LOOK_S)

    async def _share(self) -> None:
        """Take over what is newer in the bucket, and give it what is newer here."""
        await self._share_certificate()
        account, own_account, now = await self._shared.account(), self._folder.read_account(), self._now()
        if own_account is not None and (
            account is None or is_later(own_account.created_at, account.created_at, now)
        ):
            await self._shared.write(account=own_account)
        elif account is not None and account != own_account:
            self._folder.write_account(account)
        advice, own_advice = await self._shared.advice(), self._folder.read_advice()
        if own_advice is not None and (advice is None or is_later(own_advice.asked_at, advice.asked_at, now)):
            await self._shared.write(advice=own_advice)
        elif advice is not None and (
            own_advice is None or is_later(advice.asked_at, own_advice.asked_at, now)
        ):
            self._folder.write_advice(advice)
        history, own_history = await self._shared.history(), self._folder.read_history()
        if history is None or is_later(own_history.changed_at, history.changed_at, now):
            await self._shared.write(history=own_history)
        elif is_later(history.changed_at, own_history.changed_at, now):
            self._folder.write_history(history)

    async def _share_certificate(self) -> None:
        """Take over the certificate of the bucket, or write ours there: that of the higher sort key."""
        certificate, own = await self._shared.certificate(), self._folder.read_certificate()
        if own is not None and _rank(own, self._settings) > _rank(certificate, self._settings):
            await self._shared.write(certificate=own)
        elif certificate is not None and _rank(certificate, self._settings) > _rank(own, self._settings):
            self._folder.write_certificate(certificate)
            self._on_change()

    async def _order(self, history: OrderHistory) -> None:
        """Order, and store the certificate or the failure."""
        names = ", ".join(self._settings.domains)
        # written before the order: a process that dies, or a full disk, must not order again and again (limits of authorities)
        interrupted = after_failure(history, "an order runs, or was interrupted", self._now())
        self._folder.write_history(interrupted)
        await self._shared.write(history=interrupted)
        observe(CertificateOrdered(names, self._directory))
        await self._report(is_ordering=True)
        lease_renewal = asyncio.create_task(self._keep_lease())
        try:
            done = await run_order(self._request(history), self._present)
        finally:
            await _cancel(lease_renewal)
            with contextlib.suppress(Unavailable):
                await self._shared.write(challenges=[])
        match done:
            case OrderDone():
                issued = IssuedCertificate(done.chain, done.key, self._now())
                self._folder.write_certificate(issued)
                succeeded = OrderHistory(issued_by=self._directory, changed_at=self._now())
                self._folder.write_history(succeeded)
                self._on_change()
                facts, self._ahead_at = read_facts(issued.chain.encode()), self._now()
                self._ahead_s = 0.0 if facts is None else clock_ahead(facts, self._ahead_at)
                self._store_account(done)
                observe(CertificateIssued(names, round(self._days_left())))
                await self._shared.write(
                    certificate=issued, history=succeeded, account=self._folder.read_account()
                )
            case OrderFailed():
                failed = after_failure(history, done.reason, self._now(), done.retry_after_s)
                self._folder.write_history(failed)
                self._store_account(done)
                wait = round(failed.next_at - failed.failed_at)
                observe(CertificateOrderFailed(done.reason, failed.failures, wait))
                await self._shared.write(history=failed, account=self._folder.read_account())

    def _store_account(self, done: OrderDone | OrderFailed) -> None:
        if done.account_key:
            account, stored = (
                AcmeAccount(self._directory, done.account_key, done.account_url),
                self._folder.read_account(),
            )
            if stored is None or account != replace(stored, created_at=0.0):
                self._folder.write_account(replace(account, created_at=self._now()))

    def _request(self, history: OrderHistory) -> OrderRequest:
        settings, account = self._settings, self._folder.read_account()
        present = self._folder.read_certificate() if history.issued_by == self._directory else None
        secret = settings.eab_hmac_key
        return OrderRequest(
            directory=self._directory,
            domains=settings.domains,
            kinds=settings.challenges,
            ca_file=self._ca_file,
            contact=settings.contact,
            account_key=account.key if account is not None and account.directory == self._directory else "",
            eab_key_id=settings.eab_key_id,
            eab_hmac_key=secret.reveal() if secret is not None else "",
            limit_s=self._limit_s,
            dns=self._dns,
            replaces="" if present is None else present.chain,
        )

    async def _present(self, answers: list[ChallengeAnswer]) -> None:
        await self._shared.write(challenges=answers)

    async def _keep_lease(self) -> None:
        """Renew the lease while an order runs."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(Unavailable):
                await self._shared.take_lease(self._name)

    def _days_left(self) -> float:
        facts = self._folder.facts()
        return 0.0 if facts is None else (facts.ends - self._now()) / _DAY_S


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: the client library of JetStream may swallow a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_S)


def _rank(certificate: IssuedCertificate | None, settings: Certificates) -> tuple[bool, float]:
    """Return the sort key of a certificate: whether it names all domains, then when it was issued."""
    facts = None if certificate is None else read_facts(certificate.chain.encode())
    return (False, 0.0) if facts is None else (facts.names >= set(settings.domains), facts.begins)
