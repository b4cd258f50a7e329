"""URLs of a database for another login or another database of the same server (pure)."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

_OF_THE_LOGIN = ("user", "password", "passfile", "sslcert", "sslkey", "sslpassword", "options")
"""URL parameters of the replaced login: its credentials and its own settings."""


def login_url(
    url: str,
    login: str,
    password: str,
    database: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> str:
    """Return `url` for another login; `database` defaults to that of `url`, `settings` are applied to the session.

    Settings are sent as startup options, so they outrank what is stored for the database or the login. libpq's tools and
    asyncpg both read them.
    """
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    netloc = f"{quote(login, safe='')}:{quote(password, safe='')}@{place}"
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in _OF_THE_LOGIN]
    path = parts.path if database is None else "/" + quote(database, safe="")
    changed = urlunsplit(
        parts._replace(netloc=netloc, path=path, query=urlencode(query, quote_via=quote, safe="/,"))
    )
    return with_settings(changed, settings) if settings else changed


def with_settings(url: str, settings: Mapping[str, str]) -> str:
    """Return `url` with settings that are applied to the session, in place of those that it names."""
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "options"]
    query.append(("options", startup_options(settings)))
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote, safe="/,")))


def startup_options(settings: Mapping[str, str]) -> str:
    """Return settings in the form of the startup parameter `options`, which is also that of PGOPTIONS."""
    return " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())


def _escaped(value: str) -> str:
    """Escape white space and backslashes: the server splits options at white space and uses the backslash as escape."""
    return "".join(
        f"\\{character}" if character.isspace() or character == "\\" else character for character in value
    )
