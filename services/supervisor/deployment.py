"""Generate the secrets of a platform on many machines (pure): one text a file, as `docker-compose.yml` reads them."""

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from broker.subject_rights import EDGE_USER, PROCESS_USERS, authorization
from schemas.settings.backup_checks import KEY_BYTES
from services.supervisor.api_keys import random_keys

SINGLE = frozenset({
    "db_password", "db_auth_admin_password", "db_storage_admin_password", "db_scheduler_password", "db_replication_password",
    "db_management_password", "sealing_key", "backup_key",
})  # fmt: skip
"""Passwords of one login each, the sealing key, and the key of continuous backup: no other secret contains them, so a missing one can be generated alone."""
NATS_HOSTS = ("nats-1", "nats-2", "nats-3")


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """Addresses of the servers: host and port, or the host alone for the default port."""

    database: str = "db:5432"
    nats: Sequence[str] = ("nats-1:4222", "nats-2:4222", "nats-3:4222")
    routes: Sequence[str] = ("nats-1:6222", "nats-2:6222", "nats-3:6222")
    cluster_port: int = 6222


def deployment_secrets(addresses: ServerAddresses) -> dict[str, str]:
    """Generate all secrets: file name -> content."""
    keys = random_keys()
    owner, login = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    single = {name: secrets.token_urlsafe(24) for name in sorted(SINGLE)}
    users = {user: secrets.token_urlsafe(24) for user in PROCESS_USERS}
    return {
        "db_owner_password": owner,
        **single,
        "backup_key": base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode(),
        "db_url": _database_url("authenticator", login, addresses),
        "migrate_url": _database_url("supabase_admin", owner, addresses),
        "nats_secrets.conf": nats_secrets(users, secrets.token_urlsafe(24), addresses),
        "edge_broker_url": _broker_url(EDGE_USER, users[EDGE_USER], addresses),
        "pool_broker_url": _broker_url("pool", users["pool"], addresses),
        "changes_broker_url": _broker_url("changes", users["changes"], addresses),
        "jwt_secret": keys.jwt_secret,
        "publishable_key": keys.publishable_key,
        "secret_key": keys.secret_key,
        "metrics_token": secrets.token_urlsafe(24),
        "blob_access_key": secrets.token_hex(10),
        "blob_secret_key": secrets.token_hex(20),
        "s3_access_key": secrets.token_hex(16),
        "s3_secret_key": secrets.token_hex(32),
    }


def nats_secrets(users: dict[str, str], cluster: str, addresses: ServerAddresses) -> str:
    """Return the part of each nats-server's configuration that holds passwords: users and cluster routes."""
    routes = [f"nats://cluster:{quote(cluster, safe='')}@{route}" for route in addresses.routes]
    return "\n".join([
        authorization(users),
        "cluster {",
        "  name: headwater",
        f"  port: {addresses.cluster_port}",
        # A server that falls silent is left within six seconds. Until then the others hand it every second request; by default 90 s.
        '  ping_interval: "2s"',
        "  ping_max: 2",
        f"  authorization {{ user: cluster, password: {json.dumps(cluster)} }}",
        f"  routes: {json.dumps(routes)}",
        "}",
        "",
    ])  # fmt: skip


def _database_url(user: str, password: str, addresses: ServerAddresses) -> str:
    return f"postgresql://{user}:{quote(password, safe='')}@{addresses.database}/postgres"


def _broker_url(user: str, password: str, addresses: ServerAddresses) -> str:
    return ",".join(f"nats://{user}:{quote(password, safe='')}@{address}" for address in addresses.nats)
