"""Verifies signatures of Solana accounts: the address is the public key in base58. Pure.

Source: docs/reference/auth.md, section 14; RFC 8032 (Ed25519).
"""

import base64
import binascii
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ADDRESS = re.compile(f"[{_ALPHABET}]{{32,44}}")
_SIGNATURE = re.compile(r"[A-Za-z0-9+/]{86}(?:==)?|[A-Za-z0-9_-]{86}(?:==)?")
_KEY_BYTES = 32


def is_address(text: str) -> bool:
    """Return whether a text is an address: the base58 of 32 bytes."""
    return _ADDRESS.fullmatch(text) is not None and len(from_base58(text)) == _KEY_BYTES


def is_signed_by(address: str, message: str, signature: str) -> bool:
    """Return whether the key of an address signed a message. The signature is 64 bytes in base64 or base64url."""
    if not is_address(address) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        data = base64.b64decode(signature[:86].translate(str.maketrans("-_", "+/")) + "==", validate=True)
        Ed25519PublicKey.from_public_bytes(from_base58(address)).verify(data, message.encode())
    except (binascii.Error, ValueError, InvalidSignature):
        return False
    return True


def from_base58(text: str) -> bytes:
    """Decode base58 in the alphabet of Bitcoin. Raises: ValueError."""
    number = 0
    for sign in text:
        number = number * 58 + _ALPHABET.index(sign)
    zeros = len(text) - len(text.lstrip(_ALPHABET[0]))
    return b"\0" * zeros + number.to_bytes(-(-number.bit_length() // 8), "big")


def to_base58(data: bytes) -> str:
    """Encode base58 in the alphabet of Bitcoin."""
    number, signs = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        signs = _ALPHABET[rest] + signs
    return _ALPHABET[0] * (len(data) - len(data.lstrip(b"\0"))) + signs
