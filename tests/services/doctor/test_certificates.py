"""What `doctor` and `status` say about a certificate by ACME."""

import time
from pathlib import Path

import pytest

from schemas.settings.certificates import Certificates
from schemas.settings.tree import Settings
from services.certificates.folder import CertificateFolder
from services.certificates.model import OrderHistory
from services.doctor.certificates import certificate_line, look_at_certificate
from tests.services.certificates.edges import write_old_certificate

DOMAIN = "api.example.org"
FAILED = OrderHistory(
    2, 1_800_000_000.0, "the authority could not verify api.example.org by http-01: Connection refused"
)


def settings(*domains: str) -> Settings:
    return Settings(certificates=Certificates(domains=list(domains or (DOMAIN,)), accept_terms=True))


@pytest.mark.parametrize(
    ("days_left", "history", "domains", "level", "words"),
    [
        (60, OrderHistory(), (DOMAIN,), "ok", "(60 days), renewed from"),
        (
            20,
            FAILED,
            (DOMAIN,),
            "warning",
            "to be renewed now; 2 orders failed, next 2027-01-15 08:00 UTC: the authority",
        ),
        (10, OrderHistory(), (DOMAIN,), "warning", "to be renewed now"),
        (-1, OrderHistory(), (DOMAIN,), "error", "ended on"),
        (60, OrderHistory(), (DOMAIN, "new.example.org"), "error", "without new.example.org"),
    ],
)
def test_the_doctor_says_how_it_stands(
    days_left: float, history: OrderHistory, domains: tuple[str, ...], level: str, words: str, tmp_path: Path
) -> None:
    write_old_certificate(tmp_path, days_left=days_left)
    CertificateFolder(tmp_path).write_history(history)

    (finding,) = look_at_certificate(settings(*domains), [], tmp_path, time.time() - 60)

    assert (str(finding.level), words in finding.text) == (level, True), finding.text
    assert bool(finding.cure) == (level != "ok")


@pytest.mark.parametrize(("history", "level"), [(OrderHistory(), "warning"), (FAILED, "error")])
def test_none_yet(history: OrderHistory, level: str, tmp_path: Path) -> None:
    CertificateFolder(tmp_path).write_history(history)

    (finding,) = look_at_certificate(settings(), [], tmp_path)

    assert str(finding.level) == level
    assert certificate_line(settings(), tmp_path).startswith("none yet")


def test_status_says_nothing_without_a_domain(tmp_path: Path) -> None:
    assert certificate_line(Settings(), tmp_path) == ""
