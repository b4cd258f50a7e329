"""Data of a certificate, its orders and its challenges. Times are seconds since 1970."""

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord

NOT_REMOVED = "was not removed:"
"""In the lines of its error output in which the process of an order names records of DNS that remain."""


class AcmeAccount(SecretRecord, Struct, frozen=True):
    """The account at an authority: its key in PEM and the URL that the authority gave it."""

    directory: str
    key: str
    url: str = ""
    created_at: float = 0.0
    """Of two accounts the later one is used; 0 of one that an earlier version created."""


class IssuedCertificate(SecretRecord, Struct, frozen=True):
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


class RenewalAdvice(Struct, frozen=True, tag="advice"):
    """When the authority wants a certificate to be renewed. Source: RFC 9773."""

    certificate: str = ""
    """Fingerprint of the certificate that it is about."""
    renew_at: float | None = None
    """A moment of the authority's window, chosen at random; None: the authority gives none."""
    ask_again_at: float = 0.0
    asked_at: float = 0.0
    """The later of two counts."""
    fault: str = ""
    """Why the authority could not be asked; `renew_at` is then the earlier advice."""


class ChallengeAnswer(SecretRecord, Struct, frozen=True):
    """What proves one domain. `certificate` and `key` (PEM) are those of TLS-ALPN-01. Sources: RFC 8555, 8.1; RFC 8737, 3."""

    domain: str
    kind: str
    token: str
    key_authorization: str
    certificate: str = ""
    key: str = ""


class DnsMethod(SecretRecord, Struct, frozen=True):
    """How records of DNS-01 are written: by a program, or by updates of a name server (RFC 2136). Times in seconds."""

    hook: list[str] = []
    hook_timeout_s: float = 120.0
    server: str = ""
    key_name: str = ""
    key_algorithm: str = ""
    key_secret: str = ""
    wait_s: float = 0.0


class OrderRequest(SecretRecord, Struct, frozen=True, tag="order"):
    """An order. The process reads it from its standard input, one line of JSON."""

    directory: str
    domains: list[str]
    kinds: list[str]
    ca_file: str = ""
    contact: str = ""
    account_key: str = ""
    eab_key_id: str = ""
    eab_hmac_key: str = ""
    limit_s: float = 120.0
    """Longest time in which the authority verifies and issues, for each kind of challenge."""
    dns: DnsMethod = DnsMethod()
    replaces: str = ""
    """The certificate (PEM) of the same authority that the new one replaces; empty for none. Source: RFC 9773, 5."""


class AdviceRequest(Struct, frozen=True, tag="advice"):
    """A question when to renew a certificate, given as its chain in PEM; answered by one `RenewalAdvice`."""

    directory: str
    chain: str
    ca_file: str = ""


class ChallengesReady(Struct, frozen=True, tag="challenges"):
    """The authority will look for these answers. The process goes on when a line arrives."""

    answers: list[ChallengeAnswer]


class OrderDone(SecretRecord, Struct, frozen=True, tag="done"):
    """The authority has issued a certificate."""

    chain: str
    key: str
    account_key: str
    account_url: str


class OrderFailed(SecretRecord, Struct, frozen=True, tag="failed"):
    """The order failed; the account is kept if there is one."""

    reason: str
    retry_after_s: float = 0.0
    account_key: str = ""
    account_url: str = ""


OrderMessage = ChallengesReady | OrderDone | OrderFailed | RenewalAdvice
"""What that process writes, a line of JSON each."""
AuthorityTask = OrderRequest | AdviceRequest
"""What that process does."""
