import json
from uuid import uuid4

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth, DatabaseEncryption
from workers.auth.model.vault import CannotOpen, SealPurpose, Vault, is_sealed, read_vault

ROW, OTHER = uuid4(), uuid4()
OWN = read_vault(Auth())
FIRST, SECOND = Secret("A" * 43), Secret("B" * 42 + "A")


def with_keys(current: str, **keys: Secret) -> Vault:
    encryption = DatabaseEncryption(True, current, keys[current], keys)
    return read_vault(Auth(database_encryption=encryption))


@pytest.mark.parametrize("text", ["", "a secret", "ü" * 1000, '{"key_id": "x"}'])
def test_what_was_sealed_is_opened(text: str):
    assert OWN.open(OWN.seal(text, ROW, SealPurpose.FACTOR), ROW, SealPurpose.FACTOR) == text


def test_sealed_texts_have_the_documented_form_and_never_repeat():
    one, two = OWN.seal("a secret", ROW, SealPurpose.FACTOR), OWN.seal("a secret", ROW, SealPurpose.FACTOR)

    assert set(json.loads(one)) == {"key_id", "alg", "data", "nonce"}
    assert json.loads(one)["alg"] == "aes-gcm-hkdf"
    assert one != two
    assert "secret" not in one
    assert is_sealed(one)


def test_a_value_moved_to_another_row_cannot_be_opened():
    with pytest.raises(CannotOpen):
        OWN.open(OWN.seal("a secret", ROW, SealPurpose.FACTOR), OTHER, SealPurpose.FACTOR)


@pytest.mark.parametrize("name", ["data", "nonce"])
def test_a_changed_value_cannot_be_opened(name: str):
    sealed = json.loads(OWN.seal("a secret", ROW, SealPurpose.FACTOR))
    sealed[name] = ("A" if sealed[name][0] != "A" else "B") + sealed[name][1:]

    with pytest.raises(CannotOpen):
        OWN.open(json.dumps(sealed, separators=(",", ":")), ROW, SealPurpose.FACTOR)


@pytest.mark.parametrize("text", ['{"key_id":"aes-gcm-hkdf"', '{"key_id":1,"alg":"aes-gcm-hkdf"}'])
def test_what_only_looks_sealed_cannot_be_opened(text: str):
    with pytest.raises(CannotOpen):
        OWN.open(text, ROW, SealPurpose.FACTOR)


def test_what_was_never_sealed_is_given_as_it_is():
    assert OWN.open("JBSWY3DPEHPK3PXP", ROW, SealPurpose.FACTOR) == "JBSWY3DPEHPK3PXP"
    assert not OWN.is_current("JBSWY3DPEHPK3PXP")


def test_keys_are_rotated_without_losing_what_the_old_one_sealed():
    before = with_keys("first", first=FIRST)
    after = with_keys("second", first=FIRST, second=SECOND)
    sealed = before.seal("a secret", ROW, SealPurpose.FACTOR)

    assert after.open(sealed, ROW, SealPurpose.FACTOR) == "a secret"
    assert not after.is_current(sealed)
    assert after.is_current(after.seal("a secret", ROW, SealPurpose.FACTOR))


def test_a_key_that_is_gone_is_named_as_the_reason():
    sealed = with_keys("first", first=FIRST).seal("a secret", ROW, SealPurpose.FACTOR)

    with pytest.raises(CannotOpen, match="decryption_keys"):
        with_keys("second", second=SECOND).open(sealed, ROW, SealPurpose.FACTOR)


def test_keys_of_the_settings_open_what_the_platforms_own_key_sealed():
    assert (
        with_keys("first", first=FIRST).open(
            OWN.seal("a secret", ROW, SealPurpose.FACTOR), ROW, SealPurpose.FACTOR
        )
        == "a secret"
    )


def test_no_key_is_shown():
    assert "A" * 10 not in repr(with_keys("first", first=FIRST))
