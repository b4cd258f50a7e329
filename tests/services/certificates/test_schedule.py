"""When a certificate is ordered, and how long failures wait."""

import pytest

from services.certificates.model import OrderHistory, RenewalAdvice
from services.certificates.schedule import CertificateFacts, after_failure, order_at

DAY = 86400.0
NAMES = ["a.example.org", "b.example.org"]


def facts(days: float, names: list[str] = NAMES) -> CertificateFacts:
    return CertificateFacts(frozenset(names), 0.0, days * DAY)


@pytest.mark.parametrize(
    ("lifetime", "renewed_on"),
    [(90, 60), (365, 335), (45, 30), (6, 4)],
)
def test_it_is_renewed_thirty_days_ahead_or_after_two_thirds(lifetime: float, renewed_on: float) -> None:
    assert order_at(facts(lifetime), NAMES, 30 * DAY, OrderHistory()) == renewed_on * DAY


def test_it_is_due_at_once_without_one_or_with_other_names() -> None:
    assert order_at(None, NAMES, 30 * DAY, OrderHistory()) == 0
    assert order_at(facts(90, ["a.example.org"]), NAMES, 30 * DAY, OrderHistory()) == 0
    assert order_at(facts(90), ["a.example.org"], 30 * DAY, OrderHistory()) == 60 * DAY, (
        "more names do no harm"
    )


def test_it_is_due_at_once_when_another_authority_issued_it() -> None:
    history = after_failure(OrderHistory(issued_by="https://staging/dir"), "why", 10.0)

    assert (
        order_at(
            facts(90), NAMES, 30 * DAY, OrderHistory(issued_by="https://staging/dir"), "https://real/dir"
        )
        == 0
    )
    assert (
        order_at(facts(90), NAMES, 30 * DAY, OrderHistory(issued_by="https://real/dir"), "https://real/dir")
        == 60 * DAY
    )
    assert order_at(facts(90), NAMES, 30 * DAY, history, "https://real/dir") == 70, (
        "a failure does not forget it"
    )


def test_a_failure_waits_even_if_the_certificate_has_ended() -> None:
    assert order_at(None, NAMES, 30 * DAY, OrderHistory(1, 99 * DAY)) == 99 * DAY


def test_waits_grow_and_an_authority_can_demand_more() -> None:
    history, waits = OrderHistory(), []
    for _ in range(6):
        history = after_failure(history, "why", 1000.0)
        waits.append(history.next_at - 1000)
    assert waits == [60, 300, 1800, 7200, 21600, 21600]
    assert (history.failures, history.error, history.failed_at) == (6, "why", 1000.0)
    assert after_failure(OrderHistory(), "limit", 0.0, 3600).next_at == 3600
    assert after_failure(OrderHistory(), "limit", 0.0, 1e9).next_at == 7 * DAY


@pytest.mark.parametrize(
    ("advice", "renewed_on"),
    [
        (RenewalAdvice("mine", 40 * DAY), 40),
        (RenewalAdvice("mine", 70 * DAY), 70),
        (RenewalAdvice("mine", 89 * DAY), 81),  # the last tenth of its lifetime is too late
        (RenewalAdvice("mine", -1.0), -1 / DAY),
        (RenewalAdvice("mine", None, fault="it does not answer"), 60),
        (RenewalAdvice("another", 40 * DAY), 60),
    ],
)
def test_advice_of_the_authority_counts_for_its_certificate(advice: RenewalAdvice, renewed_on: float) -> None:
    own = CertificateFacts(frozenset(NAMES), 0.0, 90 * DAY, fingerprint="mine")

    assert order_at(own, NAMES, 30 * DAY, OrderHistory(), advice=advice) == max(renewed_on * DAY, 0)
