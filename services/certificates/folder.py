"""The files of a certificate by ACME: `tls/acme` in the data folder, mode 0700, its files 0600.

    certificate.pem   the certificate and its chain        account.json   the account's key at the authority
    key.pem           its private key                      orders.json    failures, and when the next order is
    holder            a random name of this data folder, for the lease
    advice.json       when the authority wants the certificate to be renewed

The gateway serves from the first two and reads them again when they change. The key is written first: a pair that does not belong
together is not used (services/gateway/connections/certificate.py).
"""

import contextlib
import secrets
from pathlib import Path
from typing import TypeVar

import msgspec

from services.certificates.model import AcmeAccount, IssuedCertificate, OrderHistory, RenewalAdvice
from services.certificates.schedule import CertificateFacts
from services.supervisor.data_folder.folder import DataFolder, write_private

T = TypeVar("T")


class CertificateFolder:
    """The files; nothing is cached. Methods that write raise OSError."""

    def __init__(self, data: Path) -> None:
        self.path = DataFolder(data).tls / "acme"
        self.certificate, self.key = self.path / "certificate.pem", self.path / "key.pem"
        self._account, self._orders, self._holder, self._advice = (
            self.path / name for name in ("account.json", "orders.json", "holder", "advice.json")
        )

    def holder_name(self) -> str:
        """Return the name of this data folder, which is created once."""
        with contextlib.suppress(OSError, UnicodeError):
            if name := self._holder.read_text().strip():
                return name
        name = secrets.token_hex(8)
        self._write(self._holder, name.encode())
        return name

    def read_certificate(self) -> IssuedCertificate | None:
        """Return the stored certificate, or None without a pair of files."""
        with contextlib.suppress(OSError, UnicodeError):
            chain, key = self.certificate.read_text(), self.key.read_text()
            return IssuedCertificate(chain, key, self.certificate.stat().st_mtime)
        return None

    def facts(self) -> CertificateFacts | None:
        """Return names and dates of the stored certificate; None without one that can be read."""
        return facts_of(self.certificate)

    def write_certificate(self, issued: IssuedCertificate) -> None:
        """Replace the certificate and its key."""
        self._write(self.key, issued.key.encode())
        self._write(self.certificate, issued.chain.encode())

    def read_account(self) -> AcmeAccount | None:
        """Return the account, or None without one."""
        return _decoded(self._account, AcmeAccount)

    def write_account(self, account: AcmeAccount) -> None:
        """Replace the account."""
        self._write(self._account, msgspec.json.encode(account))

    def read_history(self) -> OrderHistory:
        """Return the failures since the last success."""
        return _decoded(self._orders, OrderHistory) or OrderHistory()

    def write_history(self, history: OrderHistory) -> None:
        """Replace the failures."""
        self._write(self._orders, msgspec.json.encode(history))

    def read_advice(self) -> RenewalAdvice | None:
        """Return when the authority wants the certificate to be renewed; None if it was not asked yet."""
        return _decoded(self._advice, RenewalAdvice)

    def write_advice(self, advice: RenewalAdvice) -> None:
        """Replace the authority's advice."""
        self._write(self._advice, msgspec.json.encode(advice))

    def _write(self, path: Path, content: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        # An account that the authority registered and a certificate that it issued are not had again for the asking.
        write_private(path, content, is_durable=True)


def facts_of(file: Path) -> CertificateFacts | None:
    """Return names and dates of the certificate in a file; None if it cannot be read."""
    from services.certificates.certificate_facts import (
        read_facts,  # the command line must not load cryptography
    )

    with contextlib.suppress(OSError):
        return read_facts(file.read_bytes())
    return None


def _decoded(path: Path, kind: type[T]) -> T | None:
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return msgspec.json.decode(path.read_bytes(), type=kind)
    return None
