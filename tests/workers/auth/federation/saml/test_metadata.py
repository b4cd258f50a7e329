"""What an identity provider says of itself."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding

from tests.workers.auth.federation.saml.idp import MD, SAMLP, Idp, certificate, rsa_pair
from workers.auth.federation.saml.metadata import BadMetadata, read_metadata


def test_metadata_are_read():
    idp = Idp(certificates=(certificate(rsa_pair("idp")), certificate(rsa_pair("next"))))

    found = read_metadata(idp.metadata().encode())

    assert found.entity_id == idp.entity_id
    assert (found.redirect_url, found.post_url) == (idp.sso_url, idp.sso_url)
    assert [each.public_key() for each in found.certificates] == [
        rsa_pair("idp").public_key(), rsa_pair("next").public_key(),
    ]  # fmt: skip
    assert (found.valid_until, found.cache_duration) == (None, None)


def test_the_earliest_end_and_the_shortest_span_count():
    text = Idp().metadata(
        head=' validUntil="2027-01-01T00:00:00Z" cacheDuration="PT2H"',
        role=' validUntil="2026-01-01T00:00:00Z" cacheDuration="PT1H"',
    )

    found = read_metadata(text.encode())

    assert found.valid_until == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.cache_duration == timedelta(hours=1)


def test_one_identity_provider_may_stand_in_a_list():
    idp = Idp()
    other = f'<md:EntityDescriptor xmlns:md="{MD}" entityID="sp"><md:SPSSODescriptor/></md:EntityDescriptor>'
    listed = f'<md:EntitiesDescriptor xmlns:md="{MD}">{other}{idp.metadata()}</md:EntitiesDescriptor>'

    assert read_metadata(listed.encode()).entity_id == idp.entity_id


def test_a_key_for_encryption_signs_nothing():
    text = Idp().metadata().replace('use="signing"', 'use="encryption"')

    with pytest.raises(BadMetadata, match="signing certificate"):
        read_metadata(text.encode())


def test_a_key_for_no_use_in_particular_signs():
    assert read_metadata(Idp().metadata().replace(' use="signing"', "").encode()).certificates


def test_short_and_odd_keys_are_left_out():
    keys = (rsa_pair("short", 1024), ec.generate_private_key(ec.SECP256R1()))
    text = Idp(certificates=tuple(certificate(each) for each in keys)).metadata()
    odd = base64.b64encode(ed25519.Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    der = base64.b64encode(certificate(keys[1]).public_bytes(Encoding.DER)).decode()
    text = text.replace(der, f"{der}</ds:X509Certificate><ds:X509Certificate>{odd}")

    found = read_metadata(text.encode())

    assert [each.public_key() for each in found.certificates] == [keys[1].public_key()]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nothing", "no well-formed XML"),
        ("<!DOCTYPE a><a/>", "DOCTYPE"),
        ("<a/>", "EntityDescriptor"),
        (f'<md:EntityDescriptor xmlns:md="{MD}"/>', "EntityID"),
        (f'<md:EntityDescriptor xmlns:md="{MD}" entityID=" "/>', "EntityID"),
        (f'<md:EntityDescriptor xmlns:md="{MD}" entityID="e"/>', "IDPSSODescriptor"),
        (
            Idp().metadata().replace(f'"{SAMLP}"', '"urn:oasis:names:tc:SAML:1.1:protocol"'),
            "IDPSSODescriptor",
        ),
        (Idp(certificates=()).metadata(), "signing certificate"),
        (Idp().metadata(head=' validUntil="soon"'), "validUntil"),
        (f'<md:EntitiesDescriptor xmlns:md="{MD}"/>', "exactly one identity provider"),
        (
            f'<md:EntitiesDescriptor xmlns:md="{MD}">{Idp().metadata()}{Idp().metadata()}</md:EntitiesDescriptor>',
            "exactly one identity provider",
        ),
    ],
)
def test_what_is_missing_is_told(text: str, told: str):
    with pytest.raises(BadMetadata, match=told):
        read_metadata(text.encode())


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "//idp.example.org", "data:text/html,x", "https://", "ftp://a.example", "https://a b",
     "https://a\\b", "https://a.example/&#10;x", "https://ä.example/", "https://[::1"],
)  # fmt: skip
def test_a_browser_is_sent_to_web_addresses_only(url: str):
    assert read_metadata(Idp(sso_url=url).metadata().encode()).redirect_url == ""
