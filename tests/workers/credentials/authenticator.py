"""A software authenticator, with the browser around it: real keys, real CBOR, and every way to misbehave.

It answers options as `navigator.credentials` would, in JSON. Source: WebAuthn Level 3, 5.8.1, 6.1, 6.5; RFC 9052, 7.
"""

import base64
import hashlib
import json
import secrets
import struct
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import cbor2
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey as Key
from cryptography.hazmat.primitives.hashes import SHA256

ORIGIN = "https://app.example.com"
RP_ID = "example.com"
ICLOUD = UUID("fbfc3007-154e-4ecc-8c0b-6e020557d7bd")
PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, HAS_CREDENTIAL, HAS_EXTENSIONS = 1, 4, 8, 16, 64, 128
_ALGORITHM = -7


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unbase64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cose_key(key: Key, **more: Any) -> dict[Any, Any]:
    """Give the public half of a key as COSE writes it."""
    point = key.public_key().public_numbers()
    return {
        1: 2,
        3: _ALGORITHM,
        -1: 1,
        -2: point.x.to_bytes(32, "big"),
        -3: point.y.to_bytes(32, "big"),
        **more,
    }


@dataclass
class StoredCredential:
    """A credential that an authenticator holds."""

    rp_id: str
    user_handle: bytes
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: Key = field(default_factory=lambda: generate_private_key(SECP256R1()))
    count: int = 0


@dataclass
class Authenticator:
    """Holds credentials; each field is a way to be, or to be wrong. None is what is right."""

    origin: str = ORIGIN
    rp_id: str | None = None
    challenge: bytes | None = None
    type: str | None = None
    flags: int = PRESENT | VERIFIED
    counts: bool = True
    aaguid: UUID = ICLOUD
    user_handle: bytes | None = None
    client_data: dict[str, Any] = field(default_factory=dict)
    public_key: bytes | None = None
    attestation: dict[str, Any] | None = None
    transports: list[Any] = field(default_factory=lambda: ["internal", "hybrid"])
    held: list[StoredCredential] = field(default_factory=list)

    def create(self, options: dict[str, Any], *, id: bytes | None = None) -> dict[str, Any]:
        """Make a credential."""
        rp_id = self.rp_id or options["rp"]["id"]
        held = StoredCredential(rp_id, unbase64url(options["user"]["id"]))
        held.id = id or held.id
        held.count = int(self.counts)
        self.held.append(held)
        public_key = self.public_key or cbor2.dumps(cose_key(held.key))
        told = self.aaguid.bytes + struct.pack(">H", len(held.id)) + held.id + public_key
        data = self._data(rp_id, held.count, self.flags | HAS_CREDENTIAL) + told
        whole = {"fmt": "none", "attStmt": {}, "authData": data, **(self.attestation or {})}
        response = {
            "clientDataJSON": base64url(self._client_data("webauthn.create", options)),
            "attestationObject": base64url(cbor2.dumps(whole)),
            "transports": self.transports,
        }
        return self._credential(held, response)

    def get(self, options: dict[str, Any], held: StoredCredential | None = None) -> dict[str, Any]:
        """Use a credential: the allowed one, or the newest of the party."""
        allowed = {unbase64url(each["id"]) for each in options.get("allowCredentials", [])}
        fitting = [each for each in self.held if not allowed or each.id in allowed]
        held = held or fitting[-1]
        held.count += int(self.counts)
        data = self._data(self.rp_id or options["rpId"], held.count, self.flags)
        client = self._client_data("webauthn.get", options)
        signature = held.key.sign(data + hashlib.sha256(client).digest(), ECDSA(SHA256()))
        handle = held.user_handle if self.user_handle is None else self.user_handle
        response = {
            "clientDataJSON": base64url(client),
            "authenticatorData": base64url(data),
            "signature": base64url(signature),
            "userHandle": base64url(handle) if handle else None,
        }
        return self._credential(held, response)

    def _client_data(self, type: str, options: dict[str, Any]) -> bytes:
        challenge = base64url(self.challenge) if self.challenge else options["challenge"]
        told = {
            "type": self.type or type,
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": False,
        }
        return json.dumps({**told, **self.client_data}).encode()

    @staticmethod
    def _data(rp_id: str, count: int, flags: int) -> bytes:
        return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + struct.pack(">I", count)

    @staticmethod
    def _credential(held: StoredCredential, response: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": base64url(held.id),
            "rawId": base64url(held.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "authenticatorAttachment": "platform",
            "response": response,
        }
