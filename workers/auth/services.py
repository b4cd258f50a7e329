"""Where the services live that the accounts ask by their own wish: a table. Tests put their own in its place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Services:
    """Addresses of other services."""

    hcaptcha: str = "https://hcaptcha.com/siteverify"
    turnstile: str = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
    leaked_passwords: str = "https://api.pwnedpasswords.com/range/"
    """Five hex digits are appended."""
