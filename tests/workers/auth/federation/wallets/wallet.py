"""Wallets with real keys, and the texts that they sign."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime

from coincurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from workers.auth.federation.wallets.ethereum import address_of, digest
from workers.auth.federation.wallets.solana import to_base58

SITE = "https://app.example"
NOW = datetime(2026, 11, 21, 1, 30, tzinfo=UTC)


def time_of(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text(
    address: str,
    chain: str = "Ethereum",
    *,
    domain: str = "app.example",
    uri: str = SITE + "/",
    statement: str = "I accept the terms",
    issued_at: datetime = NOW,
    **more: str,
) -> str:
    """Write a message; further lines by their names, `Nonce` and `Chain_ID` as `Chain ID`."""
    lines = [f"{domain} wants you to sign in with your {chain} account:", address, ""]
    lines += [statement] if statement else []
    lines += ["", f"URI: {uri}", "Version: 1"]
    if chain == "Ethereum":
        more = {"Chain_ID": "1", "Nonce": "32891756", **more}
    lines += [
        f"{name.replace('_', ' ')}: {more.pop(name)}" for name in ("Chain_ID", "Nonce") if more.get(name)
    ]
    lines.append(f"Issued At: {time_of(issued_at)}")
    lines += [f"{name.replace('_', ' ')}: {value}" for name, value in more.items() if value]
    return "\n".join(lines)


@dataclass(frozen=True)
class EthereumWallet:
    """An account of Ethereum."""

    key: PrivateKey

    @classmethod
    def new(cls) -> "EthereumWallet":
        return cls(PrivateKey())

    @property
    def address(self) -> str:
        return address_of(self.key.public_key)

    def sign(self, message: str, first: int = 27) -> str:
        data = self.key.sign_recoverable(digest(message), hasher=None)
        return "0x" + (data[:64] + bytes([data[64] + first])).hex()


@dataclass(frozen=True)
class SolanaWallet:
    """An account of Solana."""

    key: Ed25519PrivateKey

    @classmethod
    def new(cls) -> "SolanaWallet":
        return cls(Ed25519PrivateKey.generate())

    @property
    def address(self) -> str:
        return to_base58(self.key.public_key().public_bytes_raw())

    def sign(self, message: str) -> str:
        return base64.urlsafe_b64encode(self.key.sign(message.encode())).decode()
