"""WebAuthn without its rows: options for browsers, and verification of their responses. Pure but for the random source.

Theory. The server creates a random challenge and sends options; the browser asks an authenticator, which signs the **client
data** (challenge, origin of the page) and the **authenticator data** (hash of the party's id, flags, counter; for a new
credential also its id and public key). A registration (*create*) is trusted on first use, because no attestation is
requested; an assertion (*request*) is verified with the stored public key. The signed origin defeats phishing, the challenge
replays, the counter cloned keys.

    options    challenge, party, user       -> JSON, bytes as base64url
    responses  JSON, the challenge sent     -> NewCredential or WebauthnAssertion, else Unverified

The library, in `webauthn_library.py`, is imported by the functions that need it, because it takes 4 MB and few projects use it;
`load` does so earlier. Sources: docs/reference/auth.md, sections 9.2, 9.3 and 10; WebAuthn Level 3, sections 5.4, 5.5, 7.1 and 7.2.
"""

import importlib
import secrets
from uuid import UUID

from workers.credentials.relying_party import RelyingParty
from workers.credentials.webauthn_credentials import (
    CredentialOwner,
    JsonObject,
    KnownCredential,
    NewCredential,
    StoredCredential,
    WebauthnAssertion,
)

_CHALLENGE_BYTES = 32


def load() -> None:
    """Load the library; the event loop waits for some 0.15 s."""
    importlib.import_module("workers.credentials.webauthn_library")


def new_challenge() -> bytes:
    """Return a random challenge."""
    return secrets.token_bytes(_CHALLENGE_BYTES)


def user_handle(id: UUID) -> bytes:
    """Return the bytes by which an authenticator remembers a credential's user."""
    return str(id).encode()


def creation_options(
    party: RelyingParty,
    owner: CredentialOwner,
    challenge: bytes,
    existing: list[KnownCredential],
    lifetime_s: float,
    *,
    is_passkey: bool,
    needs_verification: bool = False,
) -> JsonObject:
    """Return the options to create a credential: a passkey, which the authenticator finds without a user name, or a factor.

    `needs_verification`: only authenticators that ask for a PIN or a finger are offered. Check the result's `is_user_verified`.
    """
    from workers.credentials import webauthn_library

    return webauthn_library.creation_options(
        party,
        owner,
        challenge,
        existing,
        lifetime_s,
        is_passkey=is_passkey,
        needs_verification=needs_verification,
    )


def request_options(
    party: RelyingParty,
    challenge: bytes,
    allowed: list[KnownCredential],
    lifetime_s: float,
    *,
    needs_verification: bool = False,
) -> JsonObject:
    """Return the options to use a credential; without allowed ones, the user chooses a passkey.

    `needs_verification`: as in `creation_options`.
    """
    from workers.credentials import webauthn_library

    return webauthn_library.request_options(
        party, challenge, allowed, lifetime_s, needs_verification=needs_verification
    )


def verify_creation(party: RelyingParty, challenge: bytes, credential: JsonObject) -> NewCredential:
    """Verify a browser's response to creation options. Raises: Unverified."""
    from workers.credentials import webauthn_library

    return webauthn_library.verify_creation(party, challenge, credential)


def verify_request(
    party: RelyingParty, challenge: bytes, credential: JsonObject, stored: StoredCredential
) -> WebauthnAssertion:
    """Verify a browser's response to request options with the stored credential. Raises: Unverified."""
    from workers.credentials import webauthn_library

    return webauthn_library.verify_request(party, challenge, credential, stored)


def credential_id(credential: JsonObject) -> bytes:
    """Return the id of the credential that a response is from. Raises: Unverified."""
    from workers.credentials import webauthn_library

    return webauthn_library.credential_id(credential)


def response_user_handle(credential: JsonObject) -> bytes:
    """Return the user handle of a response to request options; empty if absent. Raises: Unverified."""
    from workers.credentials import webauthn_library

    return webauthn_library.response_user_handle(credential)
