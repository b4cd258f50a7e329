"""Names of projects and host names (pure)."""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from services.projects.model import FrontOptions, ProjectRecord
from services.supervisor.errors import StartRefused

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_LONGEST_HOST = 253


def checked_project_name(name: str) -> str:
    """Return a name of a project, which is a label of a host name and a part of a path. Raises: StartRefused."""
    if not _NAME.fullmatch(name) or name.startswith("xn--"):
        raise StartRefused(
            f"'{name}' cannot be the name of a project: lower-case letters, digits and hyphens inside, 48 characters at most."
        )
    return name


def checked_host(text: str) -> str:
    """Return a host name in lower case, without a port. Raises: StartRefused."""
    host = text.lower().rstrip(".")
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels) or _is_address(host):
        raise StartRefused(
            f"'{text}' is no host name. Name one like api.example.org, without https://, a port or a path; "
            "names with other letters in the form xn--..."
        )
    return host


def checked_hosts(name: str, hosts: Iterable[str], base: str, others: Iterable[ProjectRecord]) -> list[str]:
    """Return the host names of a project, each once. Raises: StartRefused for one that is taken, or means another project.

    `base` is the host of the server, below which each project has its own name.
    """
    checked = list(dict.fromkeys(checked_host(host) for host in hosts))
    taken = {host: other.name for other in others if other.name != name for host in other.hosts}
    for host in checked:
        if host in taken:
            raise StartRefused(f"{host} is the address of the project {taken[host]}. Remove it there first.")
        if host == base or host.endswith(f".{base}"):
            raise StartRefused(
                f"{host} lies in the server's own names: the project is at {name}.{base} already."
            )
    return checked


def checked_url(text: str) -> str:
    """Return the public address of a server: scheme, host and port. Raises: StartRefused."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username is not None
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise StartRefused(
            f"'{text}' is no address of a server. Name scheme and host, as https://apps.example.org"
        )
    host = checked_host(parts.hostname)
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != _USUAL_PORTS[parts.scheme] else "")


_USUAL_PORTS = {"http": 80, "https": 443}


def server_url(options: FrontOptions) -> str:
    """Return the public address of a server: the named one, else `localhost` and its port."""
    if options.url:
        return options.url
    scheme = "https" if options.tls_cert else "http"
    port = "" if options.port == _USUAL_PORTS[scheme] else f":{options.port}"
    return f"{scheme}://localhost{port}"


def base_host(url: str) -> str:
    """Return the host of a server's address."""
    return urlsplit(url).hostname or ""


def project_url(record: ProjectRecord, url: str) -> str:
    """Return the public address of a project: its first own host name, else NAME below the host of the server."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    host = record.hosts[0] if record.hosts else f"{record.name}.{parts.hostname}"
    return f"{parts.scheme}://{host}{port}"


def path_url(record: ProjectRecord, url: str) -> str:
    """Return the address of a project below a path of the server."""
    return f"{url}/{record.name}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
