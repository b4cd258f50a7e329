"""TLS at the gateway: the certificate and its key are read from files, and read again when they change, without a restart.

Open connections keep the certificate of their handshake. If the new files cannot be used, the previous certificate stays and an error is
logged. With ACME, either a proxy handles TLS or a client writes the files.
"""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from broker.file_watch import FileWatch
from broker.observability.observations import Observation
from broker.observability.observe import observe
from broker.processes.setting_files import find_file, setting_folders
from schemas.settings.tree import SettingsError, Tls


class CertificateRead(Observation, frozen=True):
    """The certificate has changed and is used for new connections."""


class CertificateRefused(Observation, frozen=True):
    """The files of the certificate cannot be used; the previous one stays in use."""

    level: ClassVar[str] = "error"
    reason: str


class Certificate:
    """A certificate as it is now: `context` serves with it. Raises: SettingsError if it cannot be read at first."""

    def __init__(self, tls: Tls, folders: Sequence[Path] | None = None) -> None:
        if not (tls.cert_path and tls.key_path):
            raise SettingsError(
                "api.tls.enabled needs api.tls.cert_path and api.tls.key_path; only `headwater start` creates a certificate"
            )
        folders = setting_folders() if folders is None else folders
        self._paths = find_file(tls.cert_path, folders), find_file(tls.key_path, folders)
        self._watches = tuple(FileWatch(path) for path in self._paths)
        self.context = _context()
        if reason := self._fault():
            raise SettingsError(f"the certificate of api.tls cannot be used: {reason}")
        self.context.load_cert_chain(*self._paths)

    def start(self) -> None:
        """Follow the files from now on."""
        self._watches[0].start(self.look)

    async def close(self) -> None:
        """Follow them no more."""
        await self._watches[0].stop()

    def look(self) -> bool:
        """Read the files again if one of them has changed; return whether their certificate is served now."""
        if not any([watch.has_changed() for watch in self._watches]):  # each has to look
            return False
        if reason := self._fault():
            observe(CertificateRefused(reason))
            return False
        self.context.load_cert_chain(*self._paths)
        observe(CertificateRead())
        return True

    def _fault(self) -> str:
        """Return why the files cannot be used, empty if they can. They are loaded into a new context, so that ours stays intact."""
        for path in self._paths:
            if fault := _unreadable(path):
                return fault
        try:
            _context().load_cert_chain(*self._paths, password=_no_password)
        except ssl.SSLError as error:
            words = {
                "KEY_VALUES_MISMATCH": "the key is not that of the certificate",
                "BAD_DECRYPT": "the key is kept under a password",
            }
            return words.get(error.reason or "", "it is no certificate with its key in PEM")
        except _Locked:
            return "the key is kept under a password; write it without one, readable for this user alone"
        return ""


class _Locked(Exception):
    """A key asks for a password."""


def _no_password() -> bytes:
    raise _Locked


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _unreadable(path: Path) -> str:
    try:
        with path.open("rb"):
            return ""
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
