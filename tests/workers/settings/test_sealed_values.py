"""Stored settings are opened only with their key and under their version."""

import base64

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth, DatabaseEncryption
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer, StoredSettings, StoredValue

STORED = StoredSettings(3, {"auth.email.smtp.pass": StoredValue("hunter2", "ada@example.com", "2026-11-23")})


def _key(byte: bytes) -> Secret:
    return Secret(base64.urlsafe_b64encode(byte * 32).decode().rstrip("="))


def _encrypted(id: str, **keys: Secret) -> Auth:
    return Auth(
        database_encryption=DatabaseEncryption(
            encrypt=True, encryption_key_id=id, encryption_key=keys[id], decryption_keys=keys
        )
    )


def test_what_was_sealed_is_opened() -> None:
    sealed = SettingsSealer(Auth()).seal(STORED)

    assert SettingsSealer(Auth()).open(3, sealed) == STORED
    assert "hunter2" not in sealed
    assert "smtp" not in sealed


def test_a_text_of_another_version_is_not_opened() -> None:
    sealed = SettingsSealer(Auth()).seal(STORED)

    with pytest.raises(CannotOpenSettings):
        SettingsSealer(Auth()).open(4, sealed)


@pytest.mark.parametrize(
    "text", ["", "{}", "null", '{"key_id":"platform","nonce":"AAAA","data":"AAAA"}', "\0"]
)
def test_another_text_is_not_opened(text: str) -> None:
    with pytest.raises(CannotOpenSettings):
        SettingsSealer(Auth()).open(1, text)


def test_another_secret_does_not_open() -> None:
    sealed = SettingsSealer(Auth()).seal(STORED)

    with pytest.raises(CannotOpenSettings, match="jwt_secret"):
        SettingsSealer(Auth(jwt_secret=Secret("another secret of some length"))).open(3, sealed)


def test_keys_are_rotated() -> None:
    old = SettingsSealer(_encrypted("a", a=_key(b"a")))
    new = SettingsSealer(_encrypted("b", a=_key(b"a"), b=_key(b"b")))
    without_old = SettingsSealer(_encrypted("b", b=_key(b"b")))

    sealed = old.seal(STORED)

    assert new.open(3, sealed) == STORED
    assert without_old.open(3, new.seal(STORED)) == STORED
    with pytest.raises(CannotOpenSettings, match="decryption_keys"):
        without_old.open(3, sealed)
