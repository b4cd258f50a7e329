"""The secrets of a platform on many machines (pure): one text a file, as `docker-compose.yml` reads them."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from broker import subjects
from services.supervisor.api_keys import random_keys

SINGLE = frozenset({
    "db_password", "db_auth_admin_password", "db_storage_admin_password", "db_scheduler_password", "db_replication_password",
})  # fmt: skip
"""Passwords of one login each that stand in no other secret: one that is missing is made by itself."""
NATS_HOSTS = ("nats-1", "nats-2", "nats-3")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the servers are: host and port, or the host alone where the port is the usual one."""

    database: str = "db:5432"
    nats: Sequence[str] = ("nats-1:4222", "nats-2:4222", "nats-3:4222")
    routes: Sequence[str] = ("nats-1:6222", "nats-2:6222", "nats-3:6222")
    cluster_port: int = 6222


def deployment_secrets(places: Places) -> dict[str, str]:
    """Make all secrets anew: name of a file -> what stands in it."""
    keys = random_keys()
    owner, login = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    single = {name: secrets.token_urlsafe(24) for name in sorted(SINGLE)}
    wings = {wing: secrets.token_urlsafe(24) for wing in ("door", "pool")}
    return {
        "db_owner_password": owner,
        **single,
        "db_url": _database_url("authenticator", login, places),
        "migrate_url": _database_url("supabase_admin", owner, places),
        "nats_secrets.conf": nats_secrets(wings, secrets.token_urlsafe(24), places),
        "edge_broker_url": _broker_url("door", wings["door"], places),
        "pool_broker_url": _broker_url("pool", wings["pool"], places),
        "jwt_secret": keys.jwt_secret,
        "publishable_key": keys.publishable_key,
        "secret_key": keys.secret_key,
        "metrics_token": secrets.token_urlsafe(24),
        "blob_access_key": secrets.token_hex(10),
        "blob_secret_key": secrets.token_hex(20),
        "s3_access_key": secrets.token_hex(16),
        "s3_secret_key": secrets.token_hex(32),
    }


def nats_secrets(wings: dict[str, str], cluster: str, places: Places) -> str:
    """Give the part of each nats-server's configuration that holds passwords: users, and the cluster's routes."""
    routes = [f"nats://cluster:{quote(cluster, safe='')}@{place}" for place in places.routes]
    return "\n".join([
        subjects.authorization(wings),
        "cluster {",
        "  name: headwater",
        f"  port: {places.cluster_port}",
        f"  authorization {{ user: cluster, password: {json.dumps(cluster)} }}",
        f"  routes: {json.dumps(routes)}",
        "}",
        "",
    ])  # fmt: skip


def _database_url(user: str, password: str, places: Places) -> str:
    return f"postgresql://{user}:{quote(password, safe='')}@{places.database}/postgres"


def _broker_url(wing: str, password: str, places: Places) -> str:
    return ",".join(f"nats://{wing}:{quote(password, safe='')}@{place}" for place in places.nats)
