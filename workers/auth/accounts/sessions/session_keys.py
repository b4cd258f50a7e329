"""Keys with which sessions sign their refresh tokens: derived from the platform's secret, or random and encrypted in the row.

A session that a sign-in starts derives its key from the vault's platform key and its own id, by HKDF's expansion (RFC 5869,
section 2.3; the platform key is itself the output of HKDF, so it is not extracted again). Its row contains `DERIVED` in place
of a key. So a worker verifies a token before it has read the session, and refreshes it in one exchange with Postgres
(`counted_refresh.py`).

The platform key is made from the JWT secret, without a secret of the database. So keys are derived only where that secret
signs the access tokens: whoever knows it can then sign tokens of any user anyway. All other sessions have a random key,
which the row contains encrypted: all sessions where access tokens have keys of their own or where `auth.database_encryption`
names a key; those of OAuth clients, whose id is known before they start; those with tokens of version 1; and those that a
second factor has raised, whose former tokens must not be valid any more. A derived key stays what it is when the settings change.
"""

import hmac
from uuid import UUID

from workers.auth.accounts.sessions.refresh import encode_key, new_key
from workers.auth.model.vault import Vault

DERIVED = '{"key_id":"platform:derived","alg":"aes-gcm-hkdf","data":"","nonce":""}'
"""What the row of a session with a derived key contains.

It has the form of an encrypted value that no key opens, so that earlier versions, which do not know it, reject the session's
tokens. They would take any other text for a key that was never encrypted, and this one is known to everyone.
"""
_PURPOSE = b"headwater refresh tokens of a session\0"


def new_session_key(vault: Vault, id: UUID) -> tuple[str, str]:
    """Return the key of a new session, and what its row contains."""
    if vault.derives_session_keys:
        return encode_key(derived_key(vault, id)), DERIVED
    key = new_key()
    return key, vault.seal(key, id)


def derived_key(vault: Vault, id: UUID) -> bytes:
    """Return the key that a session has if it derives its key."""
    return hmac.digest(vault.platform_key, _PURPOSE + id.bytes + b"\1", "sha256")


def open_session_key(vault: Vault, stored: str, id: UUID) -> str:
    """Return the key of a session by what its row contains. Raises: CannotOpen."""
    return encode_key(derived_key(vault, id)) if stored == DERIVED else vault.open(stored, id)
