"""TLS of the database and its pooler: which certificate they serve, where they listen, and which rules of access go with it (pure).

The rules leave loopback as it is. From other addresses the logins of `db.tls.roles` alone may connect, from `db.tls.networks`, by TLS
alone. Physical replication, which copies the whole cluster, is never opened to other addresses.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.processes.certificate_files import CIPHERS, FilePair
from broker.processes.setting_files import find_file
from schemas.settings.tree import DatabaseTls, Settings
from services.certificates.folder import CertificateFolder
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.exposure import is_loopback
from services.supervisor.ports import LOOPBACK
from services.supervisor.postgres.programs import is_embedded

_EVERYWHERE = frozenset({"0.0.0.0", "*"})  # noqa: S104 - recognised, not bound
_FOLDER, _CERTIFICATE, _KEY = "tls", "certificate.pem", "key.pem"
_LACKS_TLS = (
    "db.tls.enabled (--db-tls) needs a server that speaks TLS, and the embedded Postgres does not. Let PgBouncer take the connections with "
    "--pooler ([db.pooler] enabled = true), or run a Postgres of this machine with --postgres DIR."
)


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The settings, and the copies of certificate and key that the system user of the servers reads."""

    settings: DatabaseTls
    home: Path

    @property
    def folder(self) -> Path:
        """Folder of the copies, beside the database."""
        return self.home / _FOLDER

    @property
    def certificate(self) -> Path:
        """The certificate with its chain."""
        return self.folder / _CERTIFICATE

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.folder / _KEY


def check_database_tls(settings: Settings, programs: Path) -> None:
    """Raises: StartRefused where neither the server nor a pooler speaks TLS."""
    if is_embedded(programs) and not settings.db.pooler.enabled:
        raise StartRefused(_LACKS_TLS)


def certificate_sources(settings: Settings, folder: DataFolder, folders: Sequence[Path]) -> list[FilePair]:
    """Return the files of the certificate, of which the first that can be used is served; `folders` are those of relative paths."""
    tls, gateway = settings.db.tls, settings.api.tls
    own = (folder.certificate, folder.certificate_key)
    if tls.cert_path:
        return [(find_file(tls.cert_path, folders), find_file(tls.key_path, folders))]
    if settings.certificates.domains:
        issued = CertificateFolder(folder.path)
        return [(issued.certificate, issued.key), own]
    if gateway.enabled:
        return [(find_file(gateway.cert_path, folders), find_file(gateway.key_path, folders))]
    return [own]


def listen_addresses(tls: ServerTls | None) -> str:
    """Return the addresses at which a server listens, as Postgres and PgBouncer read them."""
    host = LOOPBACK if tls is None else tls.settings.host
    if host in _EVERYWHERE:
        return "0.0.0.0"  # noqa: S104 - what the operator asks for
    return LOOPBACK if is_loopback(host) else f"{LOOPBACK},{host}"


def access_rules(tls: ServerTls | None, database: str) -> str:
    """Return the lines of `pg_hba.conf` for other addresses than loopback. `database` is a name, or `all`."""
    if tls is None:
        return ""
    lines = [
        f'hostssl {database} "{role}" {ipaddress.ip_network(network)} scram-sha-256'
        for role in tls.settings.roles
        for network in tls.settings.networks
    ]
    return "".join(f"{line}\n" for line in lines)


def server_tls_settings(tls: ServerTls | None) -> dict[str, str]:
    """Return the server settings of Postgres."""
    if tls is None:
        return {}
    return {
        "ssl": "on",
        "ssl_cert_file": str(tls.certificate),
        "ssl_key_file": str(tls.key),
        "ssl_min_protocol_version": "TLSv1.2",
        "ssl_ciphers": CIPHERS,
    }


def pooler_tls_settings(tls: ServerTls | None) -> dict[str, object]:
    """Return the settings of PgBouncer. Its rules of access, not `allow`, decide which address may connect without TLS."""
    if tls is None:
        return {}
    return {
        "client_tls_sslmode": "allow",
        "client_tls_cert_file": tls.certificate,
        "client_tls_key_file": tls.key,
        "client_tls_ciphers": CIPHERS,
    }
