"""The vault's key: a file beside the database's folder that only the server's user reads and no dump contains.

Extension `supabase_vault` encrypts secrets with its first line and decrypts them with any (schemas/extensions). It is generated
at the first start and never changed: without it, the contents of the vault are lost.
"""

import os
import secrets
from pathlib import Path

from services.supervisor.postgres.system_user import ServerUser

NAME = "vault.key"


def ensure_vault_key(home: Path, user: ServerUser | None) -> None:
    """Create the key of the cluster in `home` if it is missing, readable by the server's user alone."""
    path = home / NAME
    if not path.exists():
        draft = home / f".{NAME}"
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    path.chmod(0o600)
    if user is not None:
        os.chown(path, user.uid, user.gid)
