"""Emails that the platform sends, as its mail catcher holds them."""

import re

import httpx

from tests.caught_emails import emails_to
from tests.platform import Platform


def link_for(server: Platform, email: str) -> str:
    """Return the link of the one email to an address, from the mail catcher."""
    catcher = f"{server.values['MAILPIT_URL']}/api/v1"
    (message,) = emails_to(server.values["MAILPIT_URL"], email)
    text = httpx.get(f"{catcher}/message/{message['ID']}").json()["HTML"]
    (link,) = re.findall(r'href="([^"]+/auth/v1/verify[^"]+)"', text)
    return str(link).replace("&amp;", "&")
