"""What administrators see of the certificate by ACME, and who may renew it. With an authority: tests/platforms/test_certificates.py."""

import pytest

from schemas.certificate_status import CertificateReport
from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator
from workers.management.operations.certificates import state_of

NOW = 1_800_000_000.0
NAMES = ["api.example.org"]


def report(
    ends_in_s: float | None = 86400.0, failures: int = 0, age_s: float = 5.0, is_ordering: bool = False
) -> CertificateReport:
    return CertificateReport(
        NAMES,
        "https://ca/dir",
        NOW - age_s,
        names=[] if ends_in_s is None else NAMES,
        not_after=NOW + (ends_in_s or 0.0),
        failures=failures,
        is_ordering=is_ordering,
    )


@pytest.mark.parametrize(
    ("reported", "state"),
    [
        (None, "off"),
        (report(), "good"),
        (report(None), "missing"),
        (report(None, failures=1), "failing"),
        (report(failures=2), "failing"),
        (report(-1.0, failures=2), "ended"),
        (report(-1.0, is_ordering=True), "ordering"),
        (report(age_s=200.0), "silent"),
    ],
)
def test_the_state_is_named(reported: CertificateReport | None, state: str) -> None:
    assert state_of(reported, NOW) == state


def test_without_a_domain_it_is_off_and_only_owners_could_renew(
    managed: Platform, reader: RemoteAdministrator, developer: RemoteAdministrator
) -> None:
    owner = administrator(managed, "owner-of-certificates", "--rights", "owner", "--write")

    assert reader.run("certificates.show") == {"state": "off", "report": None}
    assert developer.refused("certificates.renew")[0] == 403
    assert owner.refused("certificates.renew") == (409, "no_certificate")
