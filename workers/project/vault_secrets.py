"""Stores the secrets of `[db.vault]` in the database's vault, before the migrations that read them.

A secret is identified by its name. An existing one with another value is changed; one that the file does not name stays.
"""

from collections.abc import Callable, Mapping

from schemas.keys.secret import Secret
from workers.project.script_runner import ProjectConnection
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "vault_secrets.sql")


async def fill_vault(
    project: ProjectConnection,
    secrets: Mapping[str, Secret],
    report: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Create and change secrets as the file says. Warn if the database lacks a vault. Raises: the driver's errors."""
    texts = {name: secret.reveal() for name, secret in secrets.items() if not _is_unset(secret)}
    if not texts:
        return
    if not await project.connection.fetchval(_STATEMENTS["exists"]):
        warn(
            "[db.vault]: the database has no vault (extension supabase_vault), and its secrets were left out"
        )
        return
    for name, text in texts.items():
        if done := await project.connection.fetchval(_STATEMENTS["put"], name, text):
            report(f"Secret {name} of [db.vault]: {done}")


def _is_unset(secret: Secret) -> bool:
    """Return whether a secret is still the name of an unset variable, about which the settings have already warned."""
    text = secret.reveal()
    return text.startswith("env(") and text.endswith(")")
