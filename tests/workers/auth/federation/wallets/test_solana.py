"""Signatures of Solana accounts. Reference, section 14; RFC 8032."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.auth.federation.wallets.wallet import SolanaWallet
from workers.auth.federation.wallets.solana import from_base58, is_address, is_signed_by, to_base58

MESSAGE = "Hello, wörld"
ORDER = 2**252 + 27742317777372353535851937790883648493


@given(st.binary(max_size=40))
def test_base58_leads_back(data: bytes) -> None:
    assert from_base58(to_base58(data)) == data


@pytest.mark.parametrize(
    ("text", "data"),
    [("", b""), ("2NEpo7TZRRrLZSi2U", b"Hello World!"), ("11", b"\0\0"), ("1" * 32, b"\0" * 32)],
)
def test_base58_has_known_examples(text: str, data: bytes) -> None:
    assert from_base58(text) == data
    assert to_base58(data) == text


def test_an_address_is_32_bytes() -> None:
    assert is_address("1" * 32)
    assert is_address(SolanaWallet.new().address)
    for text in (
        "",
        "1" * 31,
        "1" * 33,
        "z" * 44,
        "0" * 32,
        "l" * 40,
        "O" * 40,
        "1" + SolanaWallet.new().address,
    ):
        assert not is_address(text)


def test_a_signature_may_be_of_either_alphabet_with_its_padding_or_without() -> None:
    wallet = SolanaWallet.new()
    data = wallet.key.sign(MESSAGE.encode())
    spelled = [base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()]

    for each in (*spelled, *(text.rstrip("=") for text in spelled)):
        assert is_signed_by(wallet.address, MESSAGE, each)


def test_a_key_of_rfc_8032_signs() -> None:
    key = Ed25519PrivateKey.from_private_bytes(
        bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
    )
    wallet = SolanaWallet(key)

    assert is_signed_by(wallet.address, MESSAGE, wallet.sign(MESSAGE))


def test_another_message_or_another_account_is_not_signed() -> None:
    wallet, other = SolanaWallet.new(), SolanaWallet.new()
    signature = wallet.sign(MESSAGE)

    assert not is_signed_by(wallet.address, MESSAGE + " ", signature)
    assert not is_signed_by(other.address, MESSAGE, signature)
    assert not is_signed_by("nobody", MESSAGE, signature)


def test_the_twin_of_a_signature_is_none() -> None:
    wallet = SolanaWallet.new()
    data = wallet.key.sign(MESSAGE.encode())
    twin = data[:32] + (int.from_bytes(data[32:], "little") + ORDER).to_bytes(32, "little")

    assert not is_signed_by(wallet.address, MESSAGE, base64.b64encode(twin).decode())


@pytest.mark.parametrize(
    "signature", ["", "A" * 86, "A" * 88, "A" * 86 + "=", "A" * 84 + "==", "+_" * 43, "é" * 86]
)
def test_texts_that_are_no_signature_are_none(signature: str) -> None:
    assert not is_signed_by(SolanaWallet.new().address, MESSAGE, signature)
