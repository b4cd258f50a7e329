"""The pages for people: the list of letters, and one letter. Pure: letters in, HTML out.

The HTML of a letter is shown in a frame of its own whose policy allows no script, no form and no origin.
"""

from html import escape
from importlib import resources
from urllib.parse import quote

from services.catcher.letter import Letter, Mailbox
from services.catcher.mailbox import CaughtMail

STYLE = (resources.files("services.catcher") / "page.css").read_text(encoding="utf-8")

PAGE_POLICY = "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of the pages."""

LETTER_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline';"
    " img-src data: http: https:; font-src data: http: https:; frame-ancestors 'self'"
)
"""Content-Security-Policy of a letter's own HTML."""

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


def list_page(mail: CaughtMail, found: list[Letter], query: str) -> str:
    """Give the list, with its search; it is loaded anew every five seconds."""
    rows = "\n".join(_row(letter, mail.is_read(letter.id)) for letter in found)
    empty = "Nothing was found." if query else "No letter has come yet."
    table = f"<table>\n{rows}\n</table>" if rows else f'<p class="empty">{empty}</p>'
    body = f"""<header><h1>Mail <span>{len(found)} of {len(mail)}</span></h1>
<form action="/" method="get"><input type="search" name="query" value="{escape(query)}"
 placeholder="to:ann@example.org subject:code" aria-label="Search"></form>
<form action="/delete" method="post"><button>Delete all</button></form></header>
<main>{table}</main>"""
    return _page("Mail", body, refresh=True)


def letter_page(letter: Letter) -> str:
    """Give one letter: who, what and when, its HTML in a frame, its text, and the way to its source."""
    id = quote(letter.id, safe="")
    facts = "\n".join(
        f"<dt>{name}</dt><dd>{escape(value)}</dd>"
        for name, value in (
            ("From", _shown(letter.source)),
            ("To", _shown(letter.to)),
            ("Cc", _shown(letter.cc)),
            ("Bcc", _shown(letter.bcc)),
            ("Date", letter.received.isoformat(sep=" ", timespec="seconds")),
        )
        if value
    )
    parts = "\n".join(
        f'<li><a href="/api/v1/message/{id}/part/{part.id}">{escape(part.file_name)}</a></li>'
        for part in letter.parts
    )
    frame = (
        f'<iframe title="The letter" sandbox="allow-popups allow-popups-to-escape-sandbox" src="/view/{id}.html?embed=1"></iframe>'
        if letter.html
        else ""
    )
    body = f"""<header><h1>{escape(letter.subject) or "(no subject)"}</h1><nav><a href="/">All mail</a>
<a href="/api/v1/message/{id}/raw">Source</a></nav></header>
<main><dl>{facts}</dl>{f"<ul>{parts}</ul>" if parts else ""}
{frame}
<pre>{escape(letter.text)}</pre></main>"""
    return _page(letter.subject, body, refresh=False)


def framed_html(letter: Letter, *, is_embedded: bool) -> str:
    """Give the HTML of a letter; in the frame its links open in a new window."""
    return f'<base target="_blank">{letter.html}' if is_embedded else letter.html


def _row(letter: Letter, is_read: bool) -> str:
    mark = "" if is_read else ' class="new"'
    return (
        f'<tr{mark}><td><a href="/message/{quote(letter.id, safe="")}">{escape(letter.subject) or "(no subject)"}</a>'
        f"<p>{escape(letter.snippet[:120])}</p></td><td>{escape(_shown(letter.to or letter.bcc))}</td>"
        f"<td>{escape(letter.received.strftime('%H:%M:%S'))}</td></tr>"
    )


def _shown(boxes: tuple[Mailbox, ...]) -> str:
    return ", ".join(f"{box.name} <{box.address}>" if box.name else box.address for box in boxes)


def _page(title: str, body: str, *, refresh: bool) -> str:
    again = '\n<meta http-equiv="refresh" content="5">' if refresh else ""
    return _PAGE.format(title=escape(title), body=body, refresh=again)
