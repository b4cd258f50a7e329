"""What a branch does not take from its parent's settings, and what it has instead: the only table of it (pure).

A branch reads the project's `config.toml`, `.env` files and environment as its parent does. `branch.json` in its data folder changes what
they mean, for every command and every child process:

- keys that match `CLEARED` have their defaults, whatever file or variable sets them: every key that holds a secret, every service elsewhere
  to which something is sent, every address that is the parent's;
- the branch's own keys and passwords, and `FIXED`, win over everything;
- `branch.env` in the data folder of the branch sets keys for the branch alone, those of `FIXED` excepted.
"""

import hashlib
import hmac
import re
import tomllib
from collections.abc import Iterator, Mapping

import msgspec

from schemas.branches import BranchRecord, BranchSecrets
from schemas.settings.cleared import CLEARED_SETTINGS, ClearedKeys
from schemas.settings.environment import is_setting, own_name, read_environment
from schemas.settings.forms import KINDS, holds_secret
from schemas.settings.reading import USUAL_NAMES
from schemas.settings.remotes import with_remote
from schemas.settings.tree import Settings
from services.supervisor.errors import StartRefused

_SERVICES_ELSEWHERE = (
    "auth.email.smtp.**",
    "auth.email.template.*.url",
    "auth.email.notification.*.url",
    "auth.sms.twilio.**",
    "auth.sms.twilio_verify.**",
    "auth.sms.messagebird.**",
    "auth.sms.textlocal.**",
    "auth.sms.vonage.**",
    "auth.captcha.**",
    "auth.saml.**",
    "auth.external.**",
    "auth.third_party.**",  # whose tokens the parent accepts
    "storage.webhook_*",
    "storage.s3.**",
    "storage.gcs.**",
    "storage.azure.**",
    "logs.drain.**",
    "streams.**",
    "backup.**",
    "certificates.**",
    "observability.otlp_*",
    "logs.**",
    "assistant.**",
)
_ADDRESSES_AND_PLACES = (
    "api.external_url",
    "api.tls.**",
    "api.port",
    "db.port",
    "db.tls.**",
    "db.shadow_port",
    "broker.port",
    "broker.replicas",
    "db.replicas.**",  # whose rows are the parent's
    "inbucket.**",
    "gateway.host",
    "net.**",
    "edge_runtime.allow_inner",
    "auth.external_url",
    "auth.jwt_issuer",
    "auth.redirect_url",
    "api.openapi_server_proxy_uri",
    "management.database_address",
    "storage.public_url",
    "storage.path",
    "management.backup_*",
    "management.project_ref",
)
_KEYS = (
    *(".".join(path) for path, kind in KINDS.items() if holds_secret(kind)),
    "auth.hashed_keys",
    "functions.*.env",
    "api.jwt.secret_is_base64",
    "auth.signing_keys_path",
    "auth.jwt_key_id",
    "auth.database_encryption.**",
)
CLEARED = (*_KEYS, *_SERVICES_ELSEWHERE, *_ADDRESSES_AND_PLACES)
"""Patterns of the keys that a branch does not take from its parent (`schemas/settings/cleared.py`)."""

FIXED = {
    "HEADWATER_SCHEDULER_ENABLED": "false",  # jobs, schedules of functions, requests and webhooks of the database
    "HEADWATER_BACKUP_CONTINUOUS": "false",
    "HEADWATER_MANAGEMENT_BACKUP_SCHEDULE": "",
    "HEADWATER_STORAGE_BACKEND": "file",
    "HEADWATER_STORAGE_PATH": "storage",
}
"""Settings of every branch."""
FREE_PORTS = dict.fromkeys(
    (
        "HEADWATER_API_PORT",
        "HEADWATER_DB_PORT",
        "HEADWATER_DB_POOLER_PORT",
        "HEADWATER_BROKER_PORT",
        "HEADWATER_INBUCKET_PORT",
        "HEADWATER_INBUCKET_SMTP_PORT",
    ),
    "0",
)
"""A branch takes free ports, unless `branch.env` or an option names others; `ports.json` keeps them."""
_NEVER = {"HEADWATER_DB_URL": "--database-url", "HEADWATER_BROKER_URL": "--nats-url"}

_SERVER_SETTINGS = {"max_logical_replication_workers": "0"}
"""A subscription of the copy would read the slot of the parent's, and take its changes away."""
_PARENTS_SERVER_SETTING = re.compile(
    r"archive_\w+|restore_command|recovery_\w+|primary_\w+|synchronous_standby_names|synchronized_standby_slots|sync_replication_slots"
    r"|hot_standby\w*|max_logical_replication_workers|port|listen_addresses|unix_socket_\w+|ssl\w*|data_directory|hba_file|ident_file"
    r"|external_pid_file|log_directory|log_filename|cluster_name|config_file",
    re.IGNORECASE,
)
_LINE = re.compile(r"\s*([\w.]+)\s*=", re.ASCII)
_REFERENCE = re.compile(r"env\((\w+)\)")
_DATABASE_HOOK = "pg-functions:"


def branch_environment(
    record: BranchRecord,
    config: bytes,
    inherited: Mapping[str, str],
    own: Mapping[str, str],
    earlier: Mapping[str, str],
    options: Mapping[str, str],
) -> dict[str, str]:
    """Return the environment of a branch. `inherited` is the one of the parent's files and of the process, `own` that of `branch.env`,
    `earlier` the ports of the last start, `options` those of the command line.

    Raises: StartRefused for an option that a branch cannot have; SettingsError that names an unusable variable.
    """
    if refused := [option for name, option in _NEVER.items() if options.get(name)]:
        raise StartRefused(
            f"{refused[0]} cannot be used with a branch: it has a Postgres and a NATS server of its own. Leave it out."
        )
    patterns = [*CLEARED, *_hooks_elsewhere(config, inherited)]
    cleared = ClearedKeys(patterns)
    rest = {name: text for name, text in inherited.items() if name not in _clearing(cleared, inherited)}
    fixed = FIXED | _secrets(record.secrets)
    chosen = {name: text for name, text in own.items() if _may_choose(name, fixed)}
    return {
        **rest,
        **FREE_PORTS,
        **earlier,
        **chosen,
        **options,
        **fixed,
        CLEARED_SETTINGS: ",".join(patterns),
    }


def ignored_settings(record: BranchRecord, own: Mapping[str, str]) -> list[str]:
    """Return a warning for each variable of `branch.env` that a branch does not take."""
    fixed = FIXED | _secrets(record.secrets)
    return [
        f"{name} in branch.env is ignored: it is the same for every branch (docs/branches.md)"
        for name in own
        if not _may_choose(name, fixed)
    ]


def _may_choose(name: str, fixed: Mapping[str, str]) -> bool:
    """Return whether `branch.env` may set a variable."""
    return is_setting(name) and name not in fixed and name not in _NEVER


def with_server_settings(settings: Settings) -> Settings:
    """Return the settings with the server settings of a branch."""
    db = msgspec.structs.replace(settings.db, settings=safe_server_settings(settings.db.settings))
    return msgspec.structs.replace(settings, db=db)


def safe_server_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return server settings without those that belong to the parent alone."""
    own = {name: value for name, value in settings.items() if not _PARENTS_SERVER_SETTING.fullmatch(name)}
    return own | _SERVER_SETTINGS


def safe_server_lines(text: str) -> str:
    """Return the text of `postgresql.auto.conf` without the settings that belong to the parent alone."""
    lines = text.splitlines(keepends=True)
    return "".join(
        line
        for line in lines
        if not ((match := _LINE.match(line)) and _PARENTS_SERVER_SETTING.fullmatch(match[1]))
    )


def stored_patterns() -> list[str]:
    """Return the patterns of settings stored in the database that a branch does not take over."""
    return list(CLEARED)


def _clearing(cleared: ClearedKeys, environment: Mapping[str, str]) -> set[str]:
    """Return the variables that set a cleared key, in our names or those of other programs."""
    values = read_environment(environment).values
    usual = {name for name, path in USUAL_NAMES.items() if cleared.has(".".join(path))}
    return {value.variable for value in values if cleared.has(".".join(value.path))} | usual


def _hooks_elsewhere(config: bytes, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield patterns for the hooks of auth that are not functions of the database."""
    uris: dict[str, str] = {}
    try:
        file = with_remote(tomllib.loads(config.decode()), environment, "config.toml")
        table = file.get("auth", {}).get("hook", {})
        uris = {name: str(hook.get("uri", "")) for name, hook in table.items() if isinstance(hook, dict)}
    except (ValueError, AttributeError, RecursionError):
        pass  # `load_settings` tells what is wrong with the file
    uris = {
        name: _REFERENCE.sub(lambda match: environment.get(match[1], ""), uri) for name, uri in uris.items()
    }
    for value in read_environment(environment).values:
        if value.path[:2] == ("auth", "hook") and value.path[-1] == "uri":
            uris[value.path[2]] = str(value.value)
    yield from (f"auth.hook.{name}.**" for name, uri in uris.items() if not uri.startswith(_DATABASE_HOOK))


def _secrets(secrets: BranchSecrets) -> dict[str, str]:
    return {
        own_name(("auth", "jwt_secret")): secrets.jwt_secret,
        own_name(("auth", "publishable_key")): secrets.publishable_key,
        own_name(("auth", "secret_key")): secrets.secret_key,
        own_name(("db", "password")): secrets.db_password,
        own_name(("inbucket", "key")): _mail_key(secrets.jwt_secret),
    }


def _mail_key(jwt_secret: str) -> str:
    """Return the key of a branch's mail catcher, the same for every command."""
    return hmac.new(jwt_secret.encode(), b"mail catcher", hashlib.sha256).hexdigest()[:32]
