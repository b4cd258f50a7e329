"""The HTML pages: the list of emails, and one email. Pure: emails in, HTML out.

The HTML of an email is shown in a frame whose policy allows no script, no form and no origin.
"""

from html import escape
from importlib import resources
from urllib.parse import quote

from services.mail_catcher.emails import CaughtEmail, Mailbox
from services.mail_catcher.mailbox import CaughtMail

STYLE = (resources.files("services.mail_catcher") / "page.css").read_text(encoding="utf-8")

PAGE_POLICY = "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of the pages."""

EMAIL_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline';"
    " img-src data: http: https:; font-src data: http: https:; frame-ancestors 'self'"
)
"""Content-Security-Policy of an email's own HTML."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">{refresh}
<title>{title}</title>
<link rel="stylesheet" href="/page.css">
</head>
<body>
{body}
</body>
</html>
"""


def list_page(mail: CaughtMail, matches: list[CaughtEmail], query: str) -> str:
    """Return the list with its search field; the browser reloads it every five seconds."""
    rows = "\n".join(_row(email, mail.is_read(email.id)) for email in matches)
    empty = "Nothing was found." if query else "No email has arrived yet."
    table = f"<table>\n{rows}\n</table>" if rows else f'<p class="empty">{empty}</p>'
    body = f"""<header><h1>Mail <span>{len(matches)} of {len(mail)}</span></h1>
<form action="/" method="get"><input type="search" name="query" value="{escape(query)}"
 placeholder="to:ann@example.org subject:code" aria-label="Search"></form>
<form action="/delete" method="post"><button>Delete all</button></form></header>
<main>{table}</main>"""
    return _page("Mail", body, refresh=True)


def email_page(email: CaughtEmail) -> str:
    """Return one email: addresses, date, its HTML in a frame, its text, and a link to its source."""
    id = quote(email.id, safe="")
    facts = "\n".join(
        f"<dt>{name}</dt><dd>{escape(value)}</dd>"
        for name, value in (
            ("From", _addresses_text(email.source)),
            ("To", _addresses_text(email.to)),
            ("Cc", _addresses_text(email.cc)),
            ("Bcc", _addresses_text(email.bcc)),
            ("Date", email.received.isoformat(sep=" ", timespec="seconds")),
        )
        if value
    )
    parts = "\n".join(
        f'<li><a href="/api/v1/message/{id}/part/{part.id}">{escape(part.file_name)}</a></li>'
        for part in email.parts
    )
    frame = (
        f'<iframe title="The email" sandbox="allow-popups allow-popups-to-escape-sandbox" src="/view/{id}.html?embed=1"></iframe>'
        if email.html
        else ""
    )
    body = f"""<header><h1>{escape(email.subject) or "(no subject)"}</h1><nav><a href="/">All mail</a>
<a href="/api/v1/message/{id}/raw">Source</a></nav></header>
<main><dl>{facts}</dl>{f"<ul>{parts}</ul>" if parts else ""}
{frame}
<pre>{escape(email.text)}</pre></main>"""
    return _page(email.subject, body, refresh=False)


def framed_html(email: CaughtEmail, *, is_embedded: bool) -> str:
    """Return the HTML of an email; inside the frame its links open in a new window."""
    return f'<base target="_blank">{email.html}' if is_embedded else email.html


def _row(email: CaughtEmail, is_read: bool) -> str:
    mark = "" if is_read else ' class="new"'
    return (
        f'<tr{mark}><td><a href="/message/{quote(email.id, safe="")}">{escape(email.subject) or "(no subject)"}</a>'
        f"<p>{escape(email.snippet[:120])}</p></td><td>{escape(_addresses_text(email.to or email.bcc))}</td>"
        f"<td>{escape(email.received.strftime('%H:%M:%S'))}</td></tr>"
    )


def _addresses_text(boxes: tuple[Mailbox, ...]) -> str:
    return ", ".join(f"{box.name} <{box.address}>" if box.name else box.address for box in boxes)


def _page(title: str, body: str, *, refresh: bool) -> str:
    again = '\n<meta http-equiv="refresh" content="5">' if refresh else ""
    return _PAGE.format(title=escape(title), body=body, refresh=again)
