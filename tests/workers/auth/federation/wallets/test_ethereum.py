"""Signatures of Ethereum accounts. Reference, section 14; EIP-191; EIP-55."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.auth.federation.wallets.wallet import EthereumWallet
from workers.auth.federation.wallets.ethereum import checksummed, is_address, is_chain_id, is_signed_by

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
MESSAGE = "Hello, wörld"


@pytest.mark.parametrize(
    "address",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ],
)
def test_the_examples_of_eip_55_hold(address: str) -> None:
    assert checksummed(address.lower()) == address
    assert is_address(address)
    assert is_address(address.swapcase().replace("0X", "0x"))


def test_a_known_signature_is_right() -> None:
    """The example of the JSON-RPC documentation of `personal_sign` libraries: key, message and signature are public."""
    key = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
    wallet = EthereumWallet(type(EthereumWallet.new().key)(bytes.fromhex(key[2:])))
    signature = (
        "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd"
        "6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c"
    )

    assert wallet.address == "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"
    assert is_signed_by(wallet.address, "Some data", signature)
    assert wallet.sign("Some data") == signature


@pytest.mark.parametrize("first", [27, 0])
def test_a_wallet_counts_from_27_or_from_0(first: int) -> None:
    wallet = EthereumWallet.new()
    signature = wallet.sign(MESSAGE, first)

    assert is_signed_by(wallet.address, MESSAGE, signature)
    assert is_signed_by(checksummed(wallet.address), MESSAGE, signature.removeprefix("0x").upper())


def test_another_message_or_another_account_is_not_signed() -> None:
    wallet, other = EthereumWallet.new(), EthereumWallet.new()
    signature = wallet.sign(MESSAGE)

    assert not is_signed_by(wallet.address, MESSAGE + " ", signature)
    assert not is_signed_by(other.address, MESSAGE, signature)
    assert not is_signed_by("", MESSAGE, signature)


def test_the_twin_of_a_signature_is_none() -> None:
    wallet = EthereumWallet.new()
    data = bytes.fromhex(wallet.sign(MESSAGE)[2:])
    twin = data[:32] + (ORDER - int.from_bytes(data[32:64], "big")).to_bytes(32, "big")

    for number in (0, 1, 27, 28):
        assert not is_signed_by(wallet.address, MESSAGE, (twin + bytes([number])).hex())


@pytest.mark.parametrize("number", [2, 3, 26, 29, 30, 37, 255])
def test_other_recovery_numbers_are_none(number: int) -> None:
    wallet = EthereumWallet.new()
    data = bytes.fromhex(wallet.sign(MESSAGE)[2:])

    assert not is_signed_by(wallet.address, MESSAGE, (data[:64] + bytes([number])).hex())


@pytest.mark.parametrize(
    "signature", ["", "0x", "0x" + "0" * 130, "0x" + "f" * 128 + "1b", "zz" * 65, "0x" + "0" * 128 + "1b"]
)
def test_numbers_that_are_no_signature_are_none(signature: str) -> None:
    assert not is_signed_by(EthereumWallet.new().address, MESSAGE, signature)


@given(st.binary(min_size=64, max_size=64), st.sampled_from([0, 1, 27, 28]))
def test_any_bytes_are_judged(data: bytes, number: int) -> None:
    assert not is_signed_by("0x" + "00" * 20, MESSAGE, (data + bytes([number])).hex())


def test_networks_are_numbers() -> None:
    assert is_chain_id("1")
    assert is_chain_id("11155111")
    assert not any(is_chain_id(text) for text in ("", "0", "01", "-1", "1.0", "mainnet", "١"))
