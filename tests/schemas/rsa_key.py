"""An RSA key as the SAML settings take it: PKCS#1 DER in base64."""

import base64

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def rsa_key(bits: int = 2048, exponent: int = 65537) -> str:
    """Make a key."""
    key = rsa.generate_private_key(exponent, bits)
    der = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return base64.b64encode(der).decode()


RSA_KEY = rsa_key()
