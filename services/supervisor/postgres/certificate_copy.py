"""Copies of the gateway's certificate for the database and its pooler, made again when the certificate is renewed.

Postgres takes a key that its own user owns and nobody else reads, so it cannot read the files themselves where it runs as another user.
The key is written before the certificate, and the servers are asked to read both when both are there.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from broker.file_watch import EVERY_S
from broker.processes.certificate_files import FilePair, certificate_fault
from services.supervisor.data_folder.folder import write_private
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.system_user import ServerUser
from services.supervisor.postgres.tls import ServerTls


class CertificateCopy:
    """The copies beside the database. `sources` are pairs of files, of which the first that can be used is copied."""

    def __init__(self, sources: Sequence[FilePair], tls: ServerTls, user: ServerUser | None) -> None:
        self._sources, self._tls, self._user = sources, tls, user
        self._reported = ""

    def create(self) -> None:
        """Copy at a start. Raises: StartRefused if no certificate can be used; OSError."""
        faults = [certificate_fault(pair) for pair in self._sources]
        if all(faults):
            raise StartRefused(
                f"The certificate for connections to the database cannot be used: {faults[0]}. Correct db.tls.cert_path and "
                "db.tls.key_path, or leave both out."
            )
        self._write(*self._contents(self._sources[faults.index("")]))

    def renew(self) -> str | None:
        """Copy again if the certificate has changed: return an empty text if it has, why it cannot be used, or None. Raises: OSError."""
        faults = [certificate_fault(pair) for pair in self._sources]
        if all(faults):
            return faults[0]
        certificate, key = self._contents(self._sources[faults.index("")])
        if (certificate, key) == self._contents((self._tls.certificate, self._tls.key)):
            return None
        self._write(certificate, key)
        return ""

    async def follow(self, reload: Callable[[], None], warn: Callable[[str], None]) -> None:
        """Look every few seconds, and call `reload` after each change; a fault is reported once."""
        while True:
            await asyncio.sleep(EVERY_S)  # a certificate lives for days: a look is a read of two short files
            try:
                fault = self.renew()
            except OSError as error:
                fault = str(error)
            if fault == "":
                reload()
            if fault and fault != self._reported:
                warn(f"The certificate for connections to the database stays the previous one: {fault}")
            self._reported = fault or ""

    def _contents(self, pair: FilePair) -> tuple[bytes, bytes]:
        certificate, key = pair
        return certificate.read_bytes(), key.read_bytes()

    def _write(self, certificate: bytes, key: bytes) -> None:
        folder = self._tls.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        self._give(folder)
        for path, content in ((self._tls.key, key), (self._tls.certificate, certificate)):
            write_private(path, content)
            self._give(path)

    def _give(self, path: Path) -> None:
        if self._user is not None:
            os.chown(path, self._user.uid, self._user.gid)
