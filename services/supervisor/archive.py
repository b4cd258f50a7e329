"""Continuous backup as the supervisor sees it: what a start checks, and what the process `archive` and the server get.

Nothing of it runs in the database server: there is no archive_command that a setting could replace. The process reads the log over the
replication protocol, which `pg_hba.conf` allows to the superuser alone.
"""

from collections.abc import Mapping

from schemas.settings.backup_checks import missing_secret
from schemas.settings.tree import Settings
from services.supervisor.binaries import headwater_version
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.sealing_key import sealing_key_path
from services.supervisor.environment import archive_environment
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.vault_key import NAME as VAULT_KEY
from services.supervisor.project.settings import Project

_MIB = 1024 * 1024
_UNSAFE = {
    "wal_level": ("minimal",),
    "fsync": ("off", "false", "no", "0"),
    "full_page_writes": ("off", "false", "no", "0"),
}
"""Server settings with which a base backup and the log make no whole database."""


def check_archive_settings(settings: Settings) -> None:
    """Check that continuous backup can work with these settings, if it is on. Raises: StartRefused."""
    if not settings.backup.continuous:
        return
    if sentence := missing_secret(settings.backup):
        raise StartRefused(f"{sentence}.")
    for name, values in _UNSAFE.items():
        if settings.db.settings.get(name, "").strip().lower() in values:
            raise StartRefused(
                f"[db.settings] {name} = {settings.db.settings[name]} makes backups that cannot be restored. "
                "Remove it, or switch backup.continuous off."
            )


def server_settings(settings: Settings) -> dict[str, str]:
    """Return the settings of the embedded server: those of the project, and those of continuous backup.

    They are how much of the log it keeps, and its summaries, from which it makes incremental base backups.
    """
    if not settings.backup.continuous:
        return dict(settings.db.settings)
    own = {"max_slot_wal_keep_size": f"{settings.backup.wal_limit // _MIB}MB"}
    if settings.backup.incrementals:
        own["summarize_wal"] = "on"
    return own | settings.db.settings


def archive_variables(project: Project, folder: DataFolder, cluster: Cluster | None) -> Mapping[str, str]:
    """Return the variables of the process `archive`: its secrets, and where the vault's key and the sealing key of an embedded
    database are.
    """
    if not project.settings.backup.continuous:
        return {}
    own = {"HEADWATER_VERSION": headwater_version()}
    if cluster is not None:
        own["HEADWATER_VAULT_KEY"] = str(cluster.home / VAULT_KEY)
    if path := sealing_key_path(project, folder):
        own["HEADWATER_SEALING_KEY_PATH"] = path
    return archive_environment(project) | own
