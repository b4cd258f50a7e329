"""Environment of the platform's Python children, and the passwords that only some of them get."""

import secrets
import socket

import msgspec

from broker.processes.setting_files import find_file
from schemas.database_logins import configured_passwords, password_variables
from schemas.platform_identity import VARIABLE, PlatformIdentity
from services.supervisor.api_keys import ApiKeys
from services.supervisor.data_folder.folder import DataFolder, ensure_passwords, write_private
from services.supervisor.data_folder.sealing_key import sealing_environment
from services.supervisor.ports import Ports
from services.supervisor.processes.plan import SEALING_KEY
from services.supervisor.project.settings import Project

_COMPUTED = (
    "DATABASE_URL",
    "GOTRUE_DB_DATABASE_URL",
    "NATS_URL",
    "HEADWATER_DB_URL",
    "HEADWATER_BROKER_URL",
    "HEADWATER_MIGRATE_URL",
    VARIABLE,
    "HEADWATER_DATA",
    "HEADWATER_CONFIG",
    "HEADWATER_PROJECT_FOLDER",
    "HEADWATER_PROJECT_URL",
    "HEADWATER_SHADOW_URL",
)
"""Variables that children get from the supervisor alone, never from its own environment."""

_OWNER_PASSWORD = "HEADWATER_DB_PASSWORD"  # noqa: S105 - a name
_PLATFORM_ID = "platform.id"
_ID_BYTES = 16


ARCHIVE_SECRETS = frozenset(
    {
        "HEADWATER_BACKUP_KEY",
        "HEADWATER_BACKUP_OLD_KEYS",
        "HEADWATER_BACKUP_S3_ACCESS_KEY_ID",
        "HEADWATER_BACKUP_S3_SECRET_ACCESS_KEY",
        "HEADWATER_BACKUP_GCS_SERVICE_ACCOUNT_KEY",
        "HEADWATER_BACKUP_AZURE_ACCOUNT_KEY",
    }
)
"""Variables with secrets of continuous backup: for its own process and for a restore."""


def archive_environment(project: Project) -> dict[str, str]:
    """Return the secrets of continuous backup that the environment sets."""
    return {name: value for name, value in project.environment.items() if name in ARCHIVE_SECRETS}


def children_environment(project: Project, folder: DataFolder, ports: Ports, keys: ApiKeys) -> dict[str, str]:
    """Return the environment of all Python children: the project's, without passwords and URLs of privileged users.

    The passwords of its own logins, and the sealing key, are added for each child by `processes/plan.py`.
    """
    passwords = {_OWNER_PASSWORD, *password_variables(project.settings).values()}
    hidden = passwords.union(_COMPUTED, ARCHIVE_SECRETS, {SEALING_KEY})
    inherited = {name: value for name, value in project.environment.items() if name not in hidden}
    computed = {
        "HEADWATER_DATA": str(folder.path),
        "HEADWATER_PROJECT_FOLDER": str(project.folder),
        "HEADWATER_GATEWAY_HOST": project.settings.gateway.host,
        "HEADWATER_AUTH_ANON_KEY": keys.anon_key,
        "HEADWATER_AUTH_SERVICE_ROLE_KEY": keys.service_role_key,
        "PYTHONUNBUFFERED": "1",
    }
    if project.config:
        computed["HEADWATER_CONFIG"] = str(project.config)
    return inherited | computed | _absolute_paths(project) | _port_variables(ports)


def _absolute_paths(project: Project) -> dict[str, str]:
    """Return the files and folders of the settings as absolute paths, because the children run in another folder."""
    folders = [project.config.parent, project.root] if project.config else [project.root]
    paths: dict[str, str] = {}
    if path := project.settings.auth.signing_keys_path:
        paths["HEADWATER_AUTH_SIGNING_KEYS_PATH"] = str(find_file(path, folders))
    own, tls = project.settings.certificates, project.settings.api.tls
    if own.directory_ca:
        paths["HEADWATER_CERTIFICATES_DIRECTORY_CA"] = str(find_file(own.directory_ca, folders))
    if tls.enabled and not own.domains:  # with a domain the edge finds its files in the data folder
        paths["HEADWATER_API_TLS_CERT_PATH"] = str(find_file(tls.cert_path, folders))
        paths["HEADWATER_API_TLS_KEY_PATH"] = str(find_file(tls.key_path, folders))
    if path := project.settings.edge_runtime.path:
        functions = find_file(path, folders)
    else:
        functions = (project.config.parent if project.config else project.root / "supabase") / "functions"
    return paths | {"HEADWATER_EDGE_RUNTIME_PATH": str(functions)}


def _port_variables(ports: Ports) -> dict[str, str]:
    chosen = {
        "HEADWATER_API_PORT": ports.api,
        "HEADWATER_DB_PORT": ports.db,
        "HEADWATER_BROKER_PORT": ports.nats,
        "HEADWATER_BROKER_STREAMS_PORT": ports.stream_nats,
        "HEADWATER_INBUCKET_PORT": ports.mail,
        "HEADWATER_INBUCKET_SMTP_PORT": ports.smtp,
        "HEADWATER_DB_POOLER_PORT": ports.pooler,
    }
    return {name: str(port) for name, port in chosen.items() if port}


def login_environment(project: Project, folder: DataFolder) -> dict[str, str]:
    """Return the passwords of all logins and the sealing key under their environment names, for the migration of the database.

    A password that the settings do not name is a random one of this data folder. With an external database it is that of role
    postgres, which deployments used for every login before the logins had passwords of their own.
    """
    settings = project.settings
    variables = password_variables(settings)
    generated = {} if settings.db.url else ensure_passwords(folder, list(variables))[0]
    configured = configured_passwords(settings)
    passwords = {
        variable: password.reveal()
        if (password := configured[role])
        else generated.get(role, settings.db.password.reveal())
        for role, variable in variables.items()
    }
    own = {_OWNER_PASSWORD: settings.db.password.reveal(), **passwords}
    return {**own, **sealing_environment(project, folder)}


def superuser_url(project: Project, url: str) -> str:
    """Return the URL by which an external database is migrated: `HEADWATER_MIGRATE_URL` where it is set, else that of the settings.

    No process but `migrate`, `archive` and commands gets it.
    """
    return project.environment.get("HEADWATER_MIGRATE_URL") or url


def platform_variable(project: Project, folder: DataFolder) -> dict[str, str]:
    """Return the variable that names this platform to an external database; nothing with the embedded one, which has one user.

    Its id is made once and moves with the data folder.
    """
    settings = project.settings
    if settings.db.url is None:
        return {}
    path = folder.path / _PLATFORM_ID
    if not path.exists():
        write_private(path, secrets.token_hex(_ID_BYTES).encode())
    identity = PlatformIdentity(
        path.read_text(errors="replace").strip(),
        socket.gethostname(),
        str(folder.path),
        has_own_broker=settings.broker.url is None,
    )
    return {VARIABLE: msgspec.json.encode(identity).decode()}
