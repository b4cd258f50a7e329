"""Signatures, verified by the library that receivers use."""

import base64
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from schemas.keys.secret import Secret
from workers.auth.delivery.hooks.signatures import BadSecrets, read_signer

OLD, NEW = (base64.b64encode(sign * 32).decode() for sign in (b"o", b"n"))
BODY = '{"a":"ü"}'


def secrets(*keys: str) -> Secret:
    return Secret("|".join(f"v1,whsec_{key}" for key in keys))


@pytest.mark.parametrize("key", [OLD, NEW])
def test_a_receiver_with_any_of_the_keys_believes_the_call(key: str):
    headers = read_signer(secrets(OLD, NEW)).headers("id-1", datetime.now(UTC), BODY)

    assert Webhook(f"whsec_{key}").verify(BODY, dict(headers)) == {"a": "ü"}


def test_a_receiver_with_another_key_or_body_does_not():
    headers = dict(read_signer(secrets(OLD)).headers("id-1", datetime.now(UTC), BODY))

    for key, body, told in (
        (NEW, BODY, headers),
        (OLD, BODY + " ", headers),
        (OLD, BODY, {**headers, "webhook-id": "id-2"}),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(f"whsec_{key}").verify(body, told)


@pytest.mark.parametrize("key", [OLD.rstrip("="), OLD])
def test_padding_may_be_left_out(key: str):
    headers = read_signer(secrets(key)).headers("id-1", datetime.now(UTC), BODY)

    Webhook(f"whsec_{OLD}").verify(BODY, dict(headers))


@pytest.mark.parametrize(
    "text",
    [
        "", "|", "whsec_" + OLD, "v1," + OLD, "v1,whsec_", "v1,whsec_c2hvcnQ=", "v1,whsec_!!!!" + OLD,
        f"v1,whsec_{OLD}|v1,whsec_", f"v1,whsec_{OLD}|plain", "v1a,whpk_" + OLD + ":whsk_" + OLD,
        "v1,whsec_" + base64.b64encode(b"x" * 65).decode(), f"v1,whsec_{OLD},v1,whsec_{NEW}", "v1,whsec_é" + OLD,
    ],
)  # fmt: skip
def test_keys_of_another_form_are_refused_and_not_shown(text: str):
    with pytest.raises(BadSecrets) as raised:
        read_signer(Secret(text))

    assert OLD not in str(raised.value)


def test_a_signer_shows_no_key():
    assert OLD not in repr(read_signer(secrets(OLD)))
    with pytest.raises(BadSecrets, match="is needed"):
        read_signer(None)
