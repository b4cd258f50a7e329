"""Where a request wants results to be sent: the first address of those it names that is allowed.

Source: reference page "auth", sections 5.3 and 20.
"""

from schemas.http import header
from workers.auth.context import Accounts
from workers.auth.model.request import Asked


def target_of(accounts: Accounts, asked: Asked, *named: str | None) -> str:
    """Give the first allowed address of the query, of those `named` in the body, and of the headers, else the site."""
    headers = asked.request.headers
    return accounts.redirects.target(
        [asked.query("redirect_to"), *named, header(headers, "redirect_to"), header(headers, "referer")]
    )
