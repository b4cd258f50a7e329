"""Decrypts assertions with our current key or the next one. Pure.

The content key is encrypted by RSA-OAEP, the content by AES in CBC or GCM. Danger: different errors would be a padding oracle,
by which a sender decrypts a content byte by byte. So every failure is the same `CannotDecrypt`. Source: XML Encryption 1.1, 5.2, 5.4 and 5.5.
"""

import base64
import binascii
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from workers.auth.federation.saml import xml

_OAEP_SHA1 = f"{xml.ENCRYPTION}rsa-oaep-mgf1p"
_OAEP = f"{xml.ENCRYPTION_11}rsa-oaep"
_CBC = {f"{xml.ENCRYPTION}aes{bits}-cbc": bits // 8 for bits in (128, 192, 256)}
_GCM = {f"{xml.ENCRYPTION_11}aes{bits}-gcm": bits // 8 for bits in (128, 192, 256)}
# SHA-1 is the default of OAEP, whose security does not depend on collision resistance.
_HASHES: dict[str, type[hashes.HashAlgorithm]] = {
    "": hashes.SHA1,
    f"{xml.SIGNATURE}sha1": hashes.SHA1,
    f"{xml.ENCRYPTION}sha256": hashes.SHA256,
    "http://www.w3.org/2001/04/xmldsig-more#sha384": hashes.SHA384,
    f"{xml.ENCRYPTION}sha512": hashes.SHA512,
}
_MASKS: dict[str, type[hashes.HashAlgorithm]] = {
    "": hashes.SHA1,
    f"{xml.ENCRYPTION_11}mgf1sha1": hashes.SHA1,
    f"{xml.ENCRYPTION_11}mgf1sha256": hashes.SHA256,
    f"{xml.ENCRYPTION_11}mgf1sha384": hashes.SHA384,
    f"{xml.ENCRYPTION_11}mgf1sha512": hashes.SHA512,
}
_BLOCK, _NONCE = 16, 12
_MOST_KEYS = 4


class CannotDecrypt(Exception):
    """The assertion could not be decrypted, for whatever reason."""


def decrypt(encrypted: xml.Element, keys: Sequence[RSAPrivateKey]) -> xml.Element:
    """Decrypt an `EncryptedAssertion` and return its root element. Raises: CannotDecrypt."""
    data = xml.children(encrypted, xml.ENCRYPTION, "EncryptedData")
    if len(data) != 1:
        raise CannotDecrypt
    algorithm = _algorithm(data[0])
    size = _CBC.get(algorithm) or _GCM.get(algorithm)
    if size is None:
        raise CannotDecrypt
    content = _cipher_value(data[0])
    for wrapped in xml.descendants(encrypted, xml.ENCRYPTION, "EncryptedKey")[:_MOST_KEYS]:
        for key in keys:
            secret = _unwrapped(wrapped, key)
            if secret is not None and len(secret) == size:
                opened = _opened(content, secret, is_cbc=algorithm in _CBC)
                if opened is not None:
                    return opened
    raise CannotDecrypt


def _unwrapped(wrapped: xml.Element, key: RSAPrivateKey) -> bytes | None:
    method = xml.child(wrapped, xml.ENCRYPTION, "EncryptionMethod")
    algorithm = _algorithm(wrapped)
    if method is None or algorithm not in (_OAEP, _OAEP_SHA1):
        return None
    digest = _HASHES.get(_named(method, xml.SIGNATURE, "DigestMethod"))
    mask = _MASKS.get(_named(method, xml.ENCRYPTION_11, "MGF") if algorithm == _OAEP else "")
    label = xml.text(xml.child(method, xml.ENCRYPTION, "OAEPparams"))
    if digest is None or mask is None or label:
        return None
    try:
        return key.decrypt(_cipher_value(wrapped), OAEP(MGF1(mask()), digest(), None))
    except ValueError:
        return None


def _opened(content: bytes, secret: bytes, *, is_cbc: bool) -> xml.Element | None:
    try:
        return xml.parse(_cbc(content, secret) if is_cbc else _gcm(content, secret))
    except (ValueError, InvalidTag):
        return None


def _gcm(content: bytes, secret: bytes) -> bytes:
    return AESGCM(secret).decrypt(content[:_NONCE], content[_NONCE:], None)


def _cbc(content: bytes, secret: bytes) -> bytes:
    """Decrypt and remove the padding, whose last byte is its length (XML Encryption, 5.2). Raises: ValueError."""
    if len(content) < 2 * _BLOCK or len(content) % _BLOCK:
        raise ValueError("odd length")
    decryptor = Cipher(AES(secret), CBC(content[:_BLOCK])).decryptor()
    plain = decryptor.update(content[_BLOCK:]) + decryptor.finalize()
    if not 1 <= plain[-1] <= _BLOCK:
        raise ValueError("odd padding")
    return plain[: -plain[-1]]


def _algorithm(element: xml.Element) -> str:
    return _named(element, xml.ENCRYPTION, "EncryptionMethod")


def _named(element: xml.Element, namespace: str, local: str) -> str:
    """Return the `Algorithm` of a child; empty without the child."""
    named = xml.child(element, namespace, local)
    return "" if named is None else xml.attribute(named, "Algorithm")


def _cipher_value(element: xml.Element) -> bytes:
    """Decode the cipher value of an element. Raises: CannotDecrypt."""
    data = xml.child(element, xml.ENCRYPTION, "CipherData")
    value = None if data is None else xml.child(data, xml.ENCRYPTION, "CipherValue")
    try:
        return base64.b64decode("".join(xml.text(value).split()), validate=True)
    except (binascii.Error, ValueError):
        raise CannotDecrypt from None
