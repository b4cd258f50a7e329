"""Tests of what is looked at beside the servers: certificate, object store, collector of traces."""

import time
from pathlib import Path

import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import Observability, Settings
from services.doctor.certificates import look_at_certificate
from services.doctor.external import look_at_collector, look_at_store
from services.doctor.finding import FindingLevel
from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import free_port
from tests.collector import collecting

_TLS = b'[api.tls]\nenabled = true\ncert_path = "cert.pem"\nkey_path = "key.pem"'
_DAY_S = 86400


def _settings(text: str) -> Settings:
    return load_settings(text.encode(), {})[0]


@pytest.mark.parametrize(
    ("later_s", "level", "told"),
    [
        (0, FindingLevel.WARNING, "holds until"),
        (2 * _DAY_S, FindingLevel.ERROR, "it ended on"),
        (-30 * _DAY_S, FindingLevel.OK, "until"),
    ],
)
def test_end_of_a_certificate_is_told_before_it_comes(
    tmp_path: Path, later_s: int, level: FindingLevel, told: str
) -> None:
    certificate_for_loopback(tmp_path)

    (found,) = look_at_certificate(_settings(_TLS.decode()), [tmp_path], tmp_path, time.time() + later_s)

    assert found.level is level
    assert told in found.text
    assert bool(found.cure) is (level is not FindingLevel.OK)


def test_certificate_that_is_missing_is_an_error_with_a_cure(tmp_path: Path) -> None:
    (found,) = look_at_certificate(_settings(_TLS.decode()), [tmp_path], tmp_path)

    assert found.level is FindingLevel.ERROR
    assert "cert.pem cannot be read" in found.text
    assert found.cure


def test_store_and_collector_that_do_not_answer_are_told() -> None:
    port = free_port()
    settings = _settings(
        f'[storage]\nbackend = "s3"\n[storage.s3]\nbucket = "b"\nendpoint = "http://127.0.0.1:{port}"\n'
        f'[observability]\notlp_endpoint = "http://127.0.0.1:{port}"'
    )
    (store,), (collector,) = look_at_store(settings), look_at_collector(settings)

    assert (store.level, collector.level) == (FindingLevel.ERROR, FindingLevel.WARNING)
    assert f"127.0.0.1:{port} does not answer" in store.text
    assert store.cure
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in collector.cure


def test_address_that_is_none_is_told_as_such() -> None:
    settings = Settings(observability=Observability(otlp_endpoint="collector:4318"))  # a start refuses it

    (found,) = look_at_collector(settings)

    assert found.level is FindingLevel.WARNING
    assert "no URL" in found.text


def test_collector_that_answers_is_fine() -> None:
    with collecting() as one:
        (found,) = look_at_collector(_settings(f'[observability]\notlp_endpoint = "{one.url}"'))

    assert found.level is FindingLevel.OK


def test_what_is_not_used_is_not_looked_at(tmp_path: Path) -> None:
    assert look_at_certificate(Settings(), [tmp_path], tmp_path) == []
    assert look_at_store(Settings()) == []
    assert look_at_collector(Settings()) == []
