import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError
from services.gateway.connections.certificate import Certificate
from services.supervisor.self_signed import hosts
from services.supervisor.self_signed_process import ensure_certificate

NOW = datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)
HOSTS = ["localhost", "127.0.0.1", "::1", "api.example.org"]


@pytest.fixture
def files(tmp_path):
    return tmp_path / "certificate.pem", tmp_path / "key.pem"


def test_a_certificate_names_its_hosts_and_is_no_authority(files):
    assert ensure_certificate(*files, HOSTS, NOW)

    made = x509.load_pem_x509_certificate(files[0].read_bytes())
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == HOSTS
    assert made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert files[1].stat().st_mode & 0o077 == 0
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)


@pytest.mark.parametrize(
    ("days", "names", "expected"),
    [
        (0, HOSTS, False),
        (334, HOSTS, False),
        (336, HOSTS, True),
        (400, HOSTS, True),
        (-1, HOSTS, True),
        (0, HOSTS[:3], True),
    ],
)
def test_a_certificate_stays_while_it_is_valid_for_a_month_and_names_the_hosts(files, days, names, expected):
    ensure_certificate(*files, HOSTS, NOW)

    assert ensure_certificate(*files, names, NOW + datetime.timedelta(days=days)) is expected


def test_files_that_do_not_belong_together_are_replaced(files, tmp_path):
    ensure_certificate(*files, HOSTS, NOW)
    ensure_certificate(tmp_path / "other.pem", files[1], HOSTS, NOW)
    assert ensure_certificate(*files, HOSTS, NOW)

    files[0].write_text("nothing")
    assert ensure_certificate(*files, HOSTS, NOW)
    key = serialization.load_pem_private_key(files[1].read_bytes(), None)
    assert key.public_key() == x509.load_pem_x509_certificate(files[0].read_bytes()).public_key()


def test_the_hosts_are_those_of_this_machine_and_of_the_settings():
    def listed(**environment):
        return hosts(load_settings(b"", environment)[0])

    assert listed(HEADWATER_GATEWAY_HOST="0.0.0.0") == ["localhost", "127.0.0.1", "::1"]
    assert listed(HEADWATER_GATEWAY_HOST="192.168.1.5", HEADWATER_API_EXTERNAL_URL="https://a.example:8443/x") == [
        "localhost", "127.0.0.1", "::1", "192.168.1.5", "a.example",
    ]  # fmt: skip


def test_a_gateway_of_its_own_creates_no_certificate():
    settings, _ = load_settings(b"[api.tls]\nenabled = true", {})

    with pytest.raises(SettingsError, match="only `headwater start` creates a certificate"):
        Certificate.of_settings(settings.api.tls)
