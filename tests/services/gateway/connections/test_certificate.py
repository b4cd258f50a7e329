"""TLS at the gateway: a certificate from files, renewed without a restart, rejected with a reason."""

import asyncio
import shutil
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings, SettingsError, Tls
from services.gateway.connections.certificate import Certificate
from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import NatsServer
from tests.services.gateway.running_gateway import running_gateway


@pytest.fixture
def pair(tmp_path: Path) -> Tls:
    """A certificate for the loopback address and its key, in files."""
    certificate_for_loopback(tmp_path)
    return Tls(True, str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))


async def _served_at(port: int, trusted: Path | None = None) -> bytes:
    """Return the certificate that a port shows; it is verified if it is to be trusted."""
    context = ssl.create_default_context(cafile=str(trusted)) if trusted else ssl._create_unverified_context()
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return bytes(shown)
    finally:
        writer.close()


async def test_gateway_answers_over_tls_and_over_nothing_else(nats: NatsServer, pair: Tls) -> None:
    context = ssl.create_default_context(cafile=pair.cert_path)
    async with running_gateway(nats.url, api={"tls": pair}) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port, ssl=context)
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        said = await reader.read()
        version = writer.get_extra_info("ssl_object").version()
        writer.close()
        plain_reader, plain_writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        plain_writer.write(b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n")
        plainly = await plain_reader.read()
        plain_writer.close()

    assert said.startswith(b"HTTP/1.1 200")
    assert said.endswith(b'{"status":"alive"}')
    assert version == "TLSv1.3"
    assert b"HTTP/1.1" not in plainly


async def test_renewed_certificate_is_served_without_a_restart(pair: Tls, tmp_path: Path) -> None:
    certificate = Certificate.of_settings(pair)
    server = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0, ssl=certificate.context)
    port = server.sockets[0].getsockname()[1]
    first = await _served_at(port, Path(pair.cert_path))
    renewed = tmp_path / "renewed"
    renewed.mkdir()
    certificate_for_loopback(renewed)

    assert not certificate.reload_if_changed()
    shutil.copy(renewed / "cert.pem", pair.cert_path)
    assert not certificate.reload_if_changed(), "half of a pair is none"
    assert await _served_at(port) == first
    shutil.copy(renewed / "key.pem", pair.key_path)
    assert certificate.reload_if_changed()
    assert await _served_at(port, renewed / "cert.pem") != first
    server.close()
    await server.wait_closed()


def _locked(path: Path) -> None:
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    hidden = serialization.BestAvailableEncryption(b"secret")
    pkcs8 = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, hidden))


def _of_another_key(path: Path) -> None:
    own = path.read_bytes()
    certificate_for_loopback(path.parent)
    path.write_bytes(own)


@pytest.mark.parametrize(
    ("name", "harm", "reason"),
    [
        ("cert.pem", Path.unlink, "cannot be read: No such file"),
        ("key.pem", Path.unlink, "cannot be read: No such file"),
        ("cert.pem", lambda path: path.write_text("nothing"), "no certificate with its key in PEM"),
        ("key.pem", _locked, "kept under a password"),
        ("cert.pem", _of_another_key, "the key is not that of the certificate"),
    ],
)
def test_pair_that_cannot_be_used_is_refused_with_the_reason(
    pair: Tls, tmp_path: Path, name: str, harm: object, reason: str
) -> None:
    harm(tmp_path / name)  # type: ignore[operator]  # one of the functions above

    with pytest.raises(SettingsError, match=reason):
        Certificate.of_settings(pair)


@pytest.mark.parametrize("given", ['cert_path = "c.pem"', 'key_path = "k.pem"'])
def test_tls_without_both_files_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match=r"api\.tls\.enabled needs api\.tls\.(cert|key)_path"):
        load_settings(f"[api.tls]\nenabled = true\n{given}".encode(), {})


def test_tls_is_off_unless_it_is_asked_for() -> None:
    assert not Settings().api.tls.enabled
