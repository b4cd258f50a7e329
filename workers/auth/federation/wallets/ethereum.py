"""Verifies signatures of Ethereum accounts: the public key is recovered from the signature, the address from the key. Pure.

Source: docs/reference/auth.md, section 14; EIP-191, version 0x45; EIP-55; EIP-2, 2 (only the lower of two signatures).
"""

import re

from coincurve import PublicKey

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"(?:0x)?([0-9a-fA-F]{130})")
_CHAIN_ID = re.compile(r"[1-9][0-9]{0,18}")
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1. Each signature (r, s) has a twin (r, n-s); only the lower one is valid (no malleability)."""
_RECOVERY_IDS = {0: 0, 1: 1, 27: 0, 28: 1}


def is_address(text: str) -> bool:
    """Return whether a text is an address. Its checksum (EIP-55, upper and lower case) is not checked."""
    return _ADDRESS.fullmatch(text) is not None


def is_chain_id(text: str) -> bool:
    """Return whether a text is the id of a network (EIP-155)."""
    return _CHAIN_ID.fullmatch(text) is not None


def is_signed_by(address: str, message: str, signature: str) -> bool:
    """Return whether the key of an address signed a message. The signature is hex of r, s and the recovery id."""
    match = _SIGNATURE.fullmatch(signature)
    if match is None or not is_address(address):
        return False
    data = bytes.fromhex(match[1])
    recovery_id = _RECOVERY_IDS.get(data[64])
    if recovery_id is None or int.from_bytes(data[32:64], "big") > _HALF_ORDER:
        return False
    try:
        key = PublicKey.from_signature_and_message(
            data[:64] + bytes([recovery_id]), digest(message), hasher=None
        )
    except ValueError:  # r and s are not a signature
        return False
    return address_of(key) == address.lower()


def address_of(key: PublicKey) -> str:
    """Return the address of a key, in lower case."""
    return "0x" + _keccak(key.format(compressed=False)[1:])[-20:].hex()


def digest(message: str) -> bytes:
    """Return the digest that a wallet signs: of the text behind a prefix, so that it can never be a transaction."""
    data = message.encode()
    return _keccak(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)


def checksummed(address: str) -> str:
    """Return an address with the checksum of EIP-55, which is in the case of its hex digits."""
    bare = address.lower().removeprefix("0x")
    nibbles = _keccak(bare.encode()).hex()
    return "0x" + "".join(
        sign.upper() if int(nibble, 16) > 7 else sign for sign, nibble in zip(bare, nibbles, strict=False)
    )


def _keccak(data: bytes) -> bytes:
    from Crypto.Hash import keccak  # 6 MB of memory: loaded by the first sign-in with such a wallet

    return keccak.new(digest_bits=256, data=data).digest()
