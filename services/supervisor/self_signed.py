"""The self-signed certificate of the gateway and of the database, for `[api.tls]` and `[db.tls]` without files: two files in the data folder.

It names localhost, the loopback addresses, the gateway's host and the host of `api.external_url`. Each start keeps it while it is valid for
another 30 days and names the same hosts; otherwise it creates another one. Clients have to trust it: `curl --cacert FILE`,
`NODE_EXTRA_CA_CERTS=FILE`.

A process of its own creates it (`self_signed_process.py`), because the supervisor must not keep the cryptography library in its memory.
"""

import subprocess
import sys
from urllib.parse import urlsplit

from schemas.settings.tree import Settings
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartFailed
from services.supervisor.report import Reporter

_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - recognised, not bound
_LOCAL = ("localhost", "127.0.0.1", "::1")
_FAILED = "The self-signed certificate of the gateway could not be created: {reason}"


def prepare_certificate(settings: Settings, folder: DataFolder, report: Reporter) -> None:
    """Create the certificate where the settings name that of the data folder, and report its file. Raises: StartFailed."""
    if not (_is_of_gateway(settings, folder) or _is_of_database(settings)):
        return
    folder.tls.mkdir(mode=0o700, exist_ok=True)
    argv = [sys.executable, "-P", "-m", "services.supervisor.self_signed_process"]
    files = [str(folder.certificate), str(folder.certificate_key)]
    done = subprocess.run([*argv, *files, *hosts(settings)], capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise StartFailed(_FAILED.format(reason=reason))
    if domains := settings.certificates.domains:
        report.info(
            f"TLS with a self-signed certificate until the authority has issued one for {', '.join(domains)}"
        )
        return
    report.info(f"TLS with a self-signed certificate, which clients have to trust: {folder.certificate}")


def _is_of_gateway(settings: Settings, folder: DataFolder) -> bool:
    return settings.api.tls.enabled and settings.api.tls.cert_path == str(folder.certificate)


def _is_of_database(settings: Settings) -> bool:
    """Return whether connections to the database have no other certificate."""
    return settings.db.tls.enabled and not (settings.db.tls.cert_path or settings.api.tls.enabled)


def hosts(settings: Settings) -> list[str]:
    """Return the names and addresses that the certificate is for (pure)."""
    public = urlsplit(settings.api.external_url).hostname or ""
    database = settings.db.tls.host if settings.db.tls.enabled else ""
    named = [
        host.strip("[]") for host in (settings.gateway.host, public, database) if host not in _EVERYWHERE
    ]
    return list(dict.fromkeys([*_LOCAL, *named]))
