"""Files of a certificate and its key: whether a server can use them, and the TLS context with which one serves."""

import ssl
from pathlib import Path

FilePair = tuple[Path, Path]
"""Files of a certificate and its key."""
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Suites of TLS 1.2: with forward secrecy and authenticated encryption. Those of TLS 1.3 all are so. Source: RFC 9325, 4.2."""


def certificate_fault(pair: FilePair) -> str:
    """Return why a pair of files cannot be used, empty if it can."""
    for path in pair:
        if fault := _unreadable(path):
            return fault
    try:
        server_context().load_cert_chain(*pair, password=_no_password)
    except ssl.SSLError as error:
        words = {
            "KEY_VALUES_MISMATCH": "the key is not that of the certificate",
            "BAD_DECRYPT": "the key is kept under a password",
        }
        return words.get(error.reason or "", "it is no certificate with its key in PEM")
    except _Locked:
        return "the key is kept under a password; write it without one, readable for this user alone"
    return ""


def server_context() -> ssl.SSLContext:
    """Return the TLS context of an HTTP server, without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Locked(Exception):
    """A key asks for a password."""


def _no_password() -> bytes:
    raise _Locked


def _unreadable(path: Path) -> str:
    try:
        with path.open("rb"):
            return ""
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
