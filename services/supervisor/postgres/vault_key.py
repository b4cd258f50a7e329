"""The vault's key: a file beside the database's folder, which only the server's user reads, and no dump holds.

Extension `supabase_vault` seals secrets with its first line and opens them with any (schemas/extensions). It is made at the
first start and never changed: without it, what the vault holds is lost.
"""

import os
import secrets
from pathlib import Path

from services.supervisor.postgres.system_user import SystemUser

NAME = "vault.key"


def keep_vault_key(home: Path, user: SystemUser | None) -> None:
    """Make the key of the cluster in `home` where there is none; give it to the server's user alone."""
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
