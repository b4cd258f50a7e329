"""Data of a certificate, its orders and its challenges. Times are seconds since 1970."""

from msgspec import Struct


class AcmeAccount(Struct, frozen=True):
    """The account at an authority: its key in PEM and the URL that the authority gave it."""

    directory: str
    key: str
    url: str = ""


class IssuedCertificate(Struct, frozen=True):
    """A certificate with its chain, and its key, in PEM."""

    chain: str
    key: str
    issued_at: float


class OrderHistory(Struct, frozen=True):
    """Failed orders since the last success, and who issued the certificate."""

    failures: int = 0
    next_at: float = 0.0
    """No order before this time."""
    error: str = ""
    failed_at: float = 0.0
    issued_by: str = ""
    """Directory of the authority that issued the present certificate."""
    changed_at: float = 0.0
    """The later of two histories counts."""


class ChallengeAnswer(Struct, frozen=True):
    """What proves one domain. `certificate` and `key` (PEM) are those of TLS-ALPN-01. Sources: RFC 8555, 8.1; RFC 8737, 3."""

    domain: str
    kind: str
    token: str
    key_authorization: str
    certificate: str = ""
    key: str = ""


class OrderRequest(Struct, frozen=True):
    """What the process of an order reads from its standard input, one line of JSON."""

    directory: str
    domains: list[str]
    kinds: list[str]
    ca_file: str = ""
    contact: str = ""
    account_key: str = ""
    eab_key_id: str = ""
    eab_hmac_key: str = ""
    limit_s: float = 120.0
    """Longest time of one attempt, for each kind of challenge."""


class ChallengesReady(Struct, frozen=True, tag="challenges"):
    """The authority will look for these answers. The process goes on when a line arrives."""

    answers: list[ChallengeAnswer]


class OrderDone(Struct, frozen=True, tag="done"):
    """The authority has issued a certificate."""

    chain: str
    key: str
    account_key: str
    account_url: str


class OrderFailed(Struct, frozen=True, tag="failed"):
    """The order failed; the account is kept if there is one."""

    reason: str
    retry_after_s: float = 0.0
    account_key: str = ""
    account_url: str = ""


OrderMessage = ChallengesReady | OrderDone | OrderFailed
"""What that process writes, a line of JSON each."""
