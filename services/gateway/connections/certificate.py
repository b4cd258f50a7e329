"""TLS at the gateway: the certificate and its key are read from files, and read again when they change, without a restart.

Open connections keep the certificate of their handshake. If the new files cannot be used, the previous certificate stays and an error is
logged. Of several pairs of files the first that can be used is served: the certificate by ACME, and the self-signed one until there is one.
Every certificate has an SSL context of its own, to which the handshake changes: a context that loads a second certificate serves both, if
their keys are of different kinds.
"""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from broker.file_watch import FileWatch
from broker.observability.observations import Observation
from broker.observability.observe import observe
from broker.processes.certificate_files import FilePair, certificate_fault, server_context
from broker.processes.setting_files import find_file, setting_folders
from schemas.settings.tree import SettingsError, Tls


class CertificateRead(Observation, frozen=True):
    """The certificate has changed and is used for new connections."""


class CertificateRefused(Observation, frozen=True):
    """The files of the certificate cannot be used; the previous one stays in use."""

    level: ClassVar[str] = "error"
    reason: str


class Certificate:
    """A certificate as it is now: `context` serves with it. Raises: SettingsError if none can be read at first."""

    def __init__(self, pairs: Sequence[FilePair]) -> None:
        self._pairs = pairs
        self._watches = tuple(FileWatch(path) for pair in pairs for path in pair)
        self.context = server_context()
        faults = [certificate_fault(pair) for pair in pairs]
        if all(faults):
            raise SettingsError(f"the certificate of api.tls cannot be used: {faults[-1]}")
        self._serve(pairs[faults.index("")])

    @classmethod
    def of_settings(cls, tls: Tls, folders: Sequence[Path] | None = None) -> "Certificate":
        """Return the certificate that the settings name. Raises: SettingsError."""
        if not (tls.cert_path and tls.key_path):
            raise SettingsError(
                "api.tls.enabled needs api.tls.cert_path and api.tls.key_path; only `headwater start` creates a certificate"
            )
        folders = setting_folders() if folders is None else folders
        return cls([(find_file(tls.cert_path, folders), find_file(tls.key_path, folders))])

    def start(self) -> None:
        """Follow the files from now on."""
        self._watches[0].start(self.reload_if_changed)

    async def close(self) -> None:
        """Follow them no more."""
        await self._watches[0].stop()

    def reload_if_changed(self) -> bool:
        """Read the files again if one of them has changed; return whether their certificate is served now."""
        changed = {watch.path for watch in self._watches if watch.has_changed()}
        for pair in self._pairs:
            fault = certificate_fault(pair)
            if not fault:
                if changed.isdisjoint(pair):
                    return False
                self._serve(pair)
                observe(CertificateRead())
                return True
            if not changed.isdisjoint(pair):
                observe(CertificateRefused(fault))
        return False

    def _serve(self, pair: FilePair) -> None:
        """Serve a certificate to connections whose handshake begins from now on."""
        serving = server_context()
        serving.load_cert_chain(*pair)

        def change(connection: ssl.SSLObject, _host: str | None, _context: ssl.SSLContext) -> None:
            connection.context = serving

        self.context.sni_callback = change
