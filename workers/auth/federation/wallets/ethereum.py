"""Signatures of Ethereum accounts: the address is found from the signature. Pure.

Source: reference page "auth", section 14; EIP-191, version 0x45; EIP-55; EIP-2, 2 (only the lower of two signatures).
"""

import re

from coincurve import PublicKey
from Crypto.Hash import keccak

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"(?:0x)?([0-9a-fA-F]{130})")
_CHAIN_ID = re.compile(r"[1-9][0-9]{0,18}")
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1: a signature has a twin above it, which nobody may make out of one he saw."""
_RECOVERY_IDS = {0: 0, 1: 1, 27: 0, 28: 1}


def is_address(text: str) -> bool:
    """Tell whether a text is an address; the case of its letters, a checksum of EIP-55, is not looked at."""
    return _ADDRESS.fullmatch(text) is not None


def is_chain_id(text: str) -> bool:
    """Tell whether a text is the number of a network (EIP-155)."""
    return _CHAIN_ID.fullmatch(text) is not None


def is_signed_by(address: str, message: str, signature: str) -> bool:
    """Tell whether the key of an address signed a message. The signature is hex of r, s and the recovery number."""
    found = _SIGNATURE.fullmatch(signature)
    if found is None or not is_address(address):
        return False
    data = bytes.fromhex(found[1])
    recovery_id = _RECOVERY_IDS.get(data[64])
    if recovery_id is None or int.from_bytes(data[32:64], "big") > _HALF_ORDER:
        return False
    try:
        key = PublicKey.from_signature_and_message(
            data[:64] + bytes([recovery_id]), digest(message), hasher=None
        )
    except ValueError:  # numbers that are no signature
        return False
    return address_of(key) == address.lower()


def address_of(key: PublicKey) -> str:
    """Give the address of a key, in lower case."""
    return "0x" + _keccak(key.format(compressed=False)[1:])[-20:].hex()


def digest(message: str) -> bytes:
    """Give what a wallet signs of a text: its hash behind a prefix, so that it is never a transaction."""
    data = message.encode()
    return _keccak(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)


def checksummed(address: str) -> str:
    """Spell an address with the checksum of EIP-55 in the case of its letters."""
    bare = address.lower().removeprefix("0x")
    nibbles = _keccak(bare.encode()).hex()
    return "0x" + "".join(
        sign.upper() if int(nibble, 16) > 7 else sign for sign, nibble in zip(bare, nibbles, strict=False)
    )


def _keccak(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()
