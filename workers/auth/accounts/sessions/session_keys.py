"""Keys with which sessions sign their refresh tokens: derived from the platform's secret, or random and encrypted in the row.

A session that a sign-in starts derives its key from a master key of the vault and its own id, by HKDF's expansion (RFC 5869,
section 2.3; the master key is itself the output of HKDF, so it is not extracted again). Its row contains `marker` of that master
in place of a key. So a worker verifies a token before it has read the session, and refreshes it in one exchange with Postgres
(`counted_refresh.py`).

The master key is made from the sealing key. Without one it is made from the JWT secret, and then keys are derived only where
that secret signs the access tokens: whoever knows it can then sign tokens of any user anyway. All other sessions have a random
key, which the row contains encrypted: all sessions where `auth.database_encryption` names a key; those of OAuth clients, whose id
is known before they start; those with tokens of version 1; and those that a second factor has raised, whose former tokens must not
be valid any more. A derived key stays what it is when the settings change. Sessions of a former JWT secret end with it.
"""

import hmac
from uuid import UUID

from workers.auth.accounts.sessions.refresh import RefreshToken, encode_key, new_key
from workers.auth.model.vault import SealPurpose, SessionMaster, Vault

_PURPOSE = b"headwater refresh tokens of a session\0"


def new_session_key(vault: Vault, id: UUID) -> tuple[str, str]:
    """Return the key of a new session, and what its row contains."""
    if vault.derives_session_keys:
        master = vault.session_masters[0]
        return encode_key(derived_key(master, id)), marker(master)
    key = new_key()
    return key, vault.seal(key, id, SealPurpose.SESSION)


def marker(master: SessionMaster) -> str:
    """Return what the row of a session contains that derives its key from a master.

    It has the form of an encrypted value that no key opens, so that earlier versions, which do not know it, reject the session's
    tokens. They would take any other text for a key that was never encrypted, and this one is known to everyone.
    """
    return f'{{"key_id":"{master.key_id}:derived","alg":"aes-gcm-hkdf","data":"","nonce":""}}'


def derived_key(master: SessionMaster, id: UUID) -> bytes:
    """Return the key that a session has if it derives its key from this master."""
    return hmac.digest(master.key, _PURPOSE + id.bytes + b"\1", "sha256")


def signing_master(vault: Vault, sent: RefreshToken) -> tuple[SessionMaster, bytes] | None:
    """Return the master from which the key is derived that signed a token, and the key; None if no derived key did."""
    for master in vault.valid_masters():
        key = derived_key(master, sent.session_id)
        if sent.is_signed_by(key):
            return master, key
    return None


def open_session_key(vault: Vault, stored: str, id: UUID, sent: RefreshToken | None = None) -> str:
    """Return the key of a session by what its row contains. Raises: CannotOpen.

    `sent` decides between the keys of the present and the former JWT secret, whose markers are the same.
    """
    signing = signing_master(vault, sent) if sent else None
    if signing and marker(signing[0]) == stored:
        return encode_key(signing[1])
    for master in vault.valid_masters():
        if marker(master) == stored:
            return encode_key(derived_key(master, id))
    return vault.open(stored, id, SealPurpose.SESSION)
