"""Gateways with a domain at a test authority: each has a data folder of its own with its self-signed certificate."""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from schemas.settings.certificates import Certificates
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Tls
from schemas.settings.types import Duration
from services.certificates.folder import CertificateFolder
from services.certificates.model import IssuedCertificate
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.self_signed_process import ensure_certificate
from tests.services.certificates.pebble import Pebble, names_of
from tests.services.gateway.running_gateway import RunningGateway, running_gateway

DOMAIN = "api.example.org"
PATIENCE_S = 60.0


def settings_for(
    pebble: Pebble, *kinds: str, domains: tuple[str, ...] = (DOMAIN,), **options: Any
) -> Certificates:
    """Return [certificates] for a test authority."""
    return Certificates(
        domains=list(domains),
        accept_terms=True,
        contact="ops@example.org",
        directory=pebble.directory,
        directory_ca=str(pebble.ca_file),
        challenges=list(kinds),
        **options,
    )


@contextlib.asynccontextmanager
async def running_edge(
    nats_url: str,
    data: Path,
    certificates: Certificates,
    pebble: Pebble,
    *,
    realtime: RealtimeSettings | None = None,
) -> AsyncIterator[RunningGateway]:
    """Start a gateway on the ports that the authority connects to."""
    folder = DataFolder(data)
    folder.tls.mkdir(parents=True, exist_ok=True)
    ensure_certificate(folder.certificate, folder.certificate_key, ["localhost", "127.0.0.1"])
    tls = Tls(enabled=True, http_port=pebble.http_port, hsts=Duration(3600))
    async with contextlib.AsyncExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HEADWATER_DATA", str(data))
            gateway = await stack.enter_async_context(
                running_gateway(
                    nats_url,
                    api={"port": pebble.tls_port, "tls": tls},
                    certificates=certificates,
                    realtime=realtime,
                )
            )
        yield gateway


async def served(port: int, host: str = DOMAIN, context: ssl.SSLContext | None = None) -> bytes:
    """Return the certificate (DER) that a port shows for a host, unverified without a context."""
    context = context or ssl._create_unverified_context()
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
    try:
        return bytes(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    finally:
        writer.close()


async def issued_names(pebble: Pebble, host: str = DOMAIN) -> list[str]:
    """Wait until the gateway shows a certificate of the authority; return its names."""
    context = pebble.trusting()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", pebble.tls_port, ssl=context, server_hostname=host
                )
            except (ssl.SSLError, ConnectionError):
                await asyncio.sleep(0.05)
                continue
            shown = writer.get_extra_info("ssl_object").getpeercert()
            writer.close()
            return names_of(shown)


def write_old_certificate(
    data: Path, *, days_left: float, domains: tuple[str, ...] = (DOMAIN,)
) -> IssuedCertificate:
    """Write a certificate of 90 days that ends in so many days, as if it had been issued long ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "an earlier one")])
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days_left)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - datetime.timedelta(days=90))
        .not_valid_after(ends)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(domain) for domain in domains]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    issued = IssuedCertificate(
        certificate.public_bytes(pem).decode(),
        key.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode(),
        0.0,
    )
    CertificateFolder(data).write_certificate(issued)
    return issued
