"""Our side of SAML: names, keys, metadata."""

import base64
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.auth_providers import SamlSettings
from tests.schemas.rsa_key import RSA_KEY, rsa_key
from tests.workers.auth.federation.saml.idp import MD, NS
from workers.auth.federation.saml.service_provider import own_metadata, service_provider
from workers.auth.model.errors import AuthError

NEXT = rsa_key()
NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)


def settings(**saml: object) -> Auth:
    own = SamlSettings(enabled=True, private_key=Secret(RSA_KEY))
    return Auth(external_url="https://a.example/auth/v1", saml=msgspec.structs.replace(own, **saml))


def certificates(root: etree._Element, use: str) -> list[x509.Certificate]:
    texts = root.findall(f".//md:KeyDescriptor[@use='{use}']//ds:X509Certificate", NS)
    return [x509.load_der_x509_certificate(base64.b64decode(each.text)) for each in texts]


def test_off_it_is_told():
    with pytest.raises(AuthError) as refused:
        service_provider(Auth())

    assert (refused.value.status, refused.value.code, refused.value.message) == (
        404, "saml_provider_disabled", "SAML 2.0 is disabled",
    )  # fmt: skip


def test_our_names_follow_the_external_url():
    ours = service_provider(settings())
    others = service_provider(settings(external_url="https://sso.example/x/"))

    assert ours.entity_id == "https://a.example/auth/v1/sso/saml/metadata"
    assert ours.acs_url == "https://a.example/auth/v1/sso/saml/acs"
    assert others.acs_url == "https://sso.example/x/sso/saml/acs"


def test_metadata_tell_what_an_identity_provider_needs():
    us = service_provider(settings())

    root = etree.fromstring(own_metadata(us, NOON, timedelta(days=2)))

    role = root.find("md:SPSSODescriptor", NS)
    assert role is not None
    assert (root.get("entityID"), root.get("validUntil")) == (us.entity_id, "2026-08-03T12:00:00Z")
    assert (role.get("AuthnRequestsSigned"), role.get("WantAssertionsSigned")) == ("true", "true")
    assert [each.text for each in role.findall("md:NameIDFormat", NS)] == [
        "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
        "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
    ]
    place = role.find("md:AssertionConsumerService", NS)
    assert place is not None
    assert place.get("Location") == us.acs_url
    assert place.get("Binding") == "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
    assert [each.public_key() for each in certificates(root, "signing")] == [us.key.public_key()]
    assert certificates(root, "encryption") == []
    assert [each.tag for each in role] == [
        f"{{{MD}}}{name}"
        for name in ("KeyDescriptor", "NameIDFormat", "NameIDFormat", "AssertionConsumerService")
    ]


def test_the_next_key_is_published_and_both_are_for_encryption_if_it_is_allowed():
    us = service_provider(settings(private_key_next=Secret(NEXT), allow_encrypted_assertions=True))

    root = etree.fromstring(own_metadata(us, NOON, timedelta(days=2)))

    both = [each.public_key() for each in us.keys]
    assert len(both) == 2
    assert [each.public_key() for each in certificates(root, "signing")] == both
    assert [each.public_key() for each in certificates(root, "encryption")] == both


def test_every_worker_makes_the_same_certificate():
    first, again = (
        service_provider(settings(private_key=Secret(f"{RSA_KEY}{blank}"))) for blank in ("", "\n")
    )

    assert first.certificates[0].public_bytes(Encoding.DER) == again.certificates[0].public_bytes(
        Encoding.DER
    )


def test_no_key_shows():
    assert "RSAPrivateKey" not in repr(service_provider(settings()))


def test_a_key_that_only_looks_like_one_is_refused_without_showing_it():
    broken = base64.b64encode(base64.b64decode(RSA_KEY)[:-40]).decode()

    with pytest.raises(AuthError) as refused:
        service_provider(settings(private_key=Secret(broken)))

    assert refused.value.status == 500
    assert broken[:20] not in str(refused.value)
