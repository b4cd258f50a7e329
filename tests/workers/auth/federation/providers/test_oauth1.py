"""Signatures of OAuth 1.0a, against a published example and against another implementation."""

import pytest
from authlib.oauth1.rfc5849.signature import construct_base_string, hmac_sha1_signature
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.federation.providers.oauth1 import (
    Credentials,
    base_url,
    header,
    oauth_parameters,
    signature,
)

CONSUMER = Credentials("xvz1evFS4wEEPTGEFPHBog", "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw")
TOKEN = Credentials(
    "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"
)


def test_the_example_of_twitters_documentation():
    parameters = {
        "status": "Hello Ladies + Gentlemen, a signed OAuth request!",
        "oauth_consumer_key": CONSUMER.id,
        "oauth_nonce": "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": "1318622958",
        "oauth_token": TOKEN.id,
        "oauth_version": "1.0",
    }

    url = "https://api.twitter.com/1.1/statuses/update.json?include_entities=true"

    assert signature("POST", url, parameters, CONSUMER, TOKEN) == "hCtSmYh+iHYCEqBWrE7C7hYmtUk="


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5), st.text(), st.text())
def test_another_implementation_signs_the_same(parameters: dict[str, str], client: str, token: str):
    url = "https://api.example.com:8443/a/b"
    base = construct_base_string("GET", url, list(parameters.items()))

    made = signature("GET", url, parameters, Credentials("c", client), Credentials("t", token))

    assert made == hmac_sha1_signature(base, client, token)


@pytest.mark.parametrize(
    ("url", "signed"),
    [
        ("HTTPS://API.Example.com:443/x?y=1#z", "https://api.example.com/x"),
        ("http://api.example.com:80", "http://api.example.com/"),
        ("http://api.example.com:8080/a%20b", "http://api.example.com:8080/a%20b"),
    ],
)
def test_the_address_is_signed_without_query_and_usual_port(url: str, signed: str):
    assert base_url(url) == signed


def test_two_requests_never_have_the_same_nonce():
    assert oauth_parameters(CONSUMER, 1.5)["oauth_nonce"] != oauth_parameters(CONSUMER, 1.5)["oauth_nonce"]
    assert oauth_parameters(CONSUMER, 1.5)["oauth_timestamp"] == "1"


def test_the_header_holds_no_secret():
    text = header("POST", "https://api.example.com/", oauth_parameters(CONSUMER, 1, TOKEN), CONSUMER, TOKEN)

    assert text.startswith("OAuth ")
    assert CONSUMER.secret not in text
    assert TOKEN.secret not in text
    assert TOKEN.secret not in repr(TOKEN)
