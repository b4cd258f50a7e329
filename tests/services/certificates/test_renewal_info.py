"""Renewal information (RFC 9773): the authority is asked when to renew, brings a renewal forward, and is told what is replaced."""

import asyncio
import datetime
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from acme import client, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from schemas.settings.certificates import HTTP
from services.certificates.authority import AuthorityNetwork, certificate_identifier
from services.certificates.folder import CertificateFolder
from services.certificates.model import AdviceRequest, RenewalAdvice
from services.certificates.orders import ask_advice
from tests.broker.server import NatsServer
from tests.services.certificates.edges import PATIENCE_S, issued_names, running_edge, served, settings_for
from tests.services.certificates.pebble import Pebble
from tests.services.certificates.renewal_info import RenewalInfo, telling_when

DAY = 86400.0


async def test_the_authority_brings_a_renewal_forward(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    info, folder = RenewalInfo(), CertificateFolder(tmp_path)
    async with telling_when(pebble, info) as authority, asyncio.timeout(PATIENCE_S):
        settings = settings_for(authority, HTTP)
        async with running_edge(broker.url, tmp_path, settings, authority):
            await issued_names(authority)
            first = await served(authority.tls_port)
            while (advice := folder.read_advice()) is None:
                await asyncio.sleep(0.05)
        facts = folder.facts()
        assert facts is not None
        assert advice.fault == ""
        assert facts.advised_at(advice) == facts.renewal_at(30 * DAY, advice) == advice.renew_at
        assert 39 * DAY < (advice.renew_at or 0) - time.time() < 42 * DAY
        assert 5 * 3600 < advice.ask_again_at - time.time() <= 6 * 3600
        assert len(info.asked) == 1, "not again before the authority wants to be asked"

        certificate = folder.read_certificate()
        assert certificate is not None
        assert info.asked == [certificate_identifier(certificate.chain)]
        info.starts_in_s, info.ends_in_s = -DAY, -DAY / 2
        due = RenewalAdvice(advice.certificate, advice.renew_at, 0.0, time.time())
        folder.write_advice(due)
        async with running_edge(broker.url, tmp_path, settings, authority):
            while await served(authority.tls_port) == first:
                await asyncio.sleep(0.05)


async def test_advice_that_cannot_be_had_or_followed(pebble: Pebble) -> None:
    chain, ca_file = _certificate(), str(pebble.ca_file)
    info = RenewalInfo(fault=503)
    without = await ask_advice(AdviceRequest(pebble.directory, chain, ca_file))
    async with telling_when(pebble, info) as authority:
        request = AdviceRequest(authority.directory, chain, ca_file)
        failing = await ask_advice(request)
        info.fault, info.retry_after = 0, "Fri, 01 Jan 2100 00:00:00 GMT"
        late = await ask_advice(request)
        info.starts_in_s, info.ends_in_s = 10.0, 5.0
        wrong = await ask_advice(request)

    assert isinstance(without, RenewalAdvice)
    assert isinstance(failing, RenewalAdvice)
    assert isinstance(late, RenewalAdvice)
    assert isinstance(wrong, RenewalAdvice)
    assert (without.renew_at, without.fault) == (None, ""), "an authority without renewal information"
    assert failing.renew_at is None
    assert failing.fault
    assert round(late.ask_again_at - late.asked_at) == DAY, "a day at most"
    assert "ends before it begins" in wrong.fault


def test_the_identifier_of_a_certificate_is_that_of_the_standard() -> None:
    assert certificate_identifier(_certificate()) == "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"
    assert certificate_identifier("no certificate") == ""


def _certificate() -> str:
    """Return a certificate with key identifier and serial number of the example in RFC 9773, 4.1: the serial's first bit is set."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Example CA")])
    issuer = x509.AuthorityKeyIdentifier(
        bytes.fromhex("69885b6b87464041e1b37b847ba0ae2cde01c8d4"), None, None
    )
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(0x87654321)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(issuer, critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def test_an_order_names_the_certificate_that_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def post(_self: object, _url: str, obj: Any, *_args: object, **_options: object) -> requests.Response:
        sent.append(obj.to_json())
        return requests.Response()

    monkeypatch.setattr(client.ClientNetwork, "post", post)
    network = AuthorityNetwork(None, "")
    order = messages.NewOrder(
        identifiers=(messages.Identifier(typ=messages.IDENTIFIER_FQDN, value="example.org"),)
    )
    network.post("https://ca/order", order)
    network.replaces = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"
    network.post("https://ca/order", order)

    identifiers = ({"type": "dns", "value": "example.org"},)
    assert sent == [{"identifiers": identifiers}, {"identifiers": identifiers, "replaces": network.replaces}]
