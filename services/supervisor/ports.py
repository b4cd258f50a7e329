"""Choose the ports of a platform and check that they are free.

The default ports are those of the settings. When the user names another port of the API than the usual one, other platforms run on this
machine, too: each port without a chosen number is then any free one, preferably the one of the last start.
"""

import errno
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from schemas.settings.tree import Settings
from services.supervisor.errors import StartRefused
from services.supervisor.port_holder import port_holder

LOOPBACK = "127.0.0.1"
_HIGHEST = 65535


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one platform; 0 for a part that does not run."""

    api: int
    db: int
    nats: int
    mail: int = 0
    smtp: int = 0
    pooler: int = 0
    stream_nats: int = 0


@dataclass(frozen=True, slots=True)
class PortRequest:
    """A requested port: `number` 0 is any free one, `preferred` if that is free; `label` and `option` appear in error texts."""

    name: str
    label: str
    option: str
    host: str
    number: int
    preferred: int = 0


def requested_ports(
    settings: Settings, named: Collection[str], *, needed: Collection[str]
) -> list[PortRequest]:
    """Return requests for the needed ports of api, db, pooler, nats, stream_nats, mail and smtp; `named` are those set by option or environment.

    With another port of the API than the usual one, the ports that nothing names are preferred at their usual distance from it: with
    8000 Postgres gets 8001, if that is free.
    """
    defaults, mail, api = Settings(), settings.inbucket, settings.api.port
    others_run = "api" in named and api != defaults.api.port

    database_host = settings.db.tls.host if settings.db.tls.enabled else LOOPBACK

    def request(name: str, label: str, option: str, value: int, default: int) -> PortRequest:
        host = database_host if name in ("db", "pooler") else LOOPBACK
        if name in named or value != default or not others_run:
            return PortRequest(name, label, option, host, value)
        beside = api + default - defaults.api.port if api else 0
        return PortRequest(name, label, option, host, 0, beside if beside <= _HIGHEST else 0)

    stream_port = request("stream_nats", "", "", settings.broker.streams_port, defaults.broker.streams_port)
    requests = [
        PortRequest("api", "the API", "--port", settings.gateway.host, api),
        request("db", "Postgres", "--db-port", settings.db.port, defaults.db.port),
        request("pooler", "the pooler", "--pooler-port", settings.db.pooler.port, defaults.db.pooler.port),
        request("nats", "NATS", "--nats-port", settings.broker.port, defaults.broker.port),
        PortRequest(
            "stream_nats",
            "the NATS server for streams",
            "HEADWATER_BROKER_STREAMS_PORT",
            settings.broker.streams_host,
            stream_port.number,
            stream_port.preferred,
        ),
        request("mail", "the mail catcher", "--mail-port", mail.port, defaults.inbucket.port),
        request(
            "smtp",
            "the mail catcher's SMTP",
            "--smtp-port",
            mail.smtp_port,
            defaults.inbucket.smtp_port,
        ),
    ]
    return [request for request in requests if request.name in needed]


def choose_ports(
    requests: list[PortRequest], earlier: Mapping[str, int], held: Collection[int] = ()
) -> Ports:
    """Choose a number for every requested port; the ports of other parts are 0. `held` ports are ours already.

    Raises: StartRefused if a requested port is in use, or two parts have the same one.
    """
    chosen: dict[str, int] = {}
    for request in sorted(requests, key=lambda request: request.number == 0):  # fixed numbers first
        chosen[request.name] = _choose(request, earlier.get(request.name, 0), chosen, held)
    return Ports(**{field.name: chosen.get(field.name, 0) for field in fields(Ports)})


def check_plain_port(host: str, port: int) -> None:
    """Check the port that redirects to https; 0 is none. Raises: StartRefused if it cannot be listened on."""
    if port and not is_free(host, port):
        raise StartRefused(
            f"Port {port}, which redirects to https, is in use by {port_holder(port)}. Stop that program, or choose another port with "
            "api.tls.http_port (HEADWATER_API_TLS_HTTP_PORT); 0 is none."
        )


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen on an address now.

    Raises: StartRefused if the host is not an address of this machine, or the port needs more rights.
    """
    try:
        _bound(host, port).close()
    except PermissionError as error:
        raise StartRefused(unbindable(host, port, error)) from None
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise StartRefused(
                f"Cannot listen on '{host}': it is no address of this machine. Choose another with --host."
            ) from None
        return False
    return True


def unbindable(host: str, port: int, error: OSError) -> str:
    """Return why an address cannot be listened on, and what to do about it (pure)."""
    if isinstance(error, PermissionError):
        return (
            f"Port {port} needs more rights than you have: ports below 1024 are the system's. Allow them with "
            f"`sysctl net.ipv4.ip_unprivileged_port_start={min(port, 80)}` (as root), give the service CAP_NET_BIND_SERVICE "
            "(docs/certificates.md), or choose a port above 1023."
        )
    return f"cannot listen on {host}:{port}: {error.strerror or error}"


def _choose(request: PortRequest, earlier: int, chosen: Mapping[str, int], held: Collection[int]) -> int:
    used = set(chosen.values())
    if request.number in used and request.number:
        raise StartRefused(
            f"Port {request.number} was chosen twice; give {request.label} another one with {request.option}."
        )
    if request.number:
        if request.number not in held and not is_free(request.host, request.number):
            raise StartRefused(
                f"Port {request.number} for {request.label} is in use by {port_holder(request.number)}. "
                f"Stop that program, or choose another port with {request.option}."
            )
        return request.number
    for wanted in (earlier, request.preferred):
        if wanted and wanted not in used and _may_bind(request.host, wanted):
            return wanted
    while True:  # the system may offer a port that another part just got
        with _bound(request.host, 0) as probe:
            free = int(probe.getsockname()[1])
        if free not in used:
            return free


def _may_bind(host: str, port: int) -> bool:
    """Return whether a port that no setting names can be bound: one that needs more rights cannot."""
    try:
        return is_free(host, port)
    except StartRefused:
        return False


def _bound(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host or LOOPBACK, port, type=socket.SOCK_STREAM)[0]
    probe = socket.socket(family, kind)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
    except BaseException:
        probe.close()
        raise
    return probe
