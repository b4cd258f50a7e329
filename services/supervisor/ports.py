"""Ports: which ones a platform listens on, and whether they are free.

The usual ports are those of the settings. When the user names the port of the API, the platform stands beside others:
every port that nobody named is then a free one, the one of the last start if it still is.
"""

import errno
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from schemas.settings.tree import Settings
from services.supervisor.errors import StartRefused

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one platform; 0 for what it has not."""

    api: int
    db: int
    nats: int
    mail: int = 0
    smtp: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """One port as it was asked for: `number` 0 is any free one; `label` and `option` are for the user's eyes."""

    name: str
    label: str
    option: str
    host: str
    number: int


def wanted_ports(settings: Settings, named: Collection[str], *, needed: Collection[str]) -> list[Wanted]:
    """Give the ports that are needed out of api, db, nats, mail and smtp; `named` are those the user chose by option or environment."""
    usual, mail = Settings(), settings.inbucket
    beside = "api" in named

    def number(name: str, value: int, default: int) -> int:
        chosen = name in named or value != default or not beside
        return value if chosen else 0

    every = [
        Wanted("api", "the API", "--port", settings.gateway.host, settings.api.port),
        Wanted("db", "Postgres", "--db-port", LOOPBACK, number("db", settings.db.port, usual.db.port)),
        Wanted(
            "nats", "NATS", "--nats-port", LOOPBACK, number("nats", settings.broker.port, usual.broker.port)
        ),
        Wanted(
            "mail",
            "the mail catcher",
            "--mail-port",
            LOOPBACK,
            number("mail", mail.port, usual.inbucket.port),
        ),
        Wanted(
            "smtp",
            "the mail catcher's SMTP",
            "--smtp-port",
            LOOPBACK,
            number("smtp", mail.smtp_port, usual.inbucket.smtp_port),
        ),
    ]
    return [wanted for wanted in every if wanted.name in needed]


def choose_ports(wanted: list[Wanted], earlier: Mapping[str, int]) -> Ports:
    """Settle every port; those that are not needed are 0.

    Raises: StartRefused if a port that was asked for is in use, or two parts were given the same one.
    """
    settled: dict[str, int] = {}
    for one in sorted(wanted, key=lambda each: each.number == 0):
        settled[one.name] = _settle(one, earlier.get(one.name, 0), settled)
    return Ports(**{each.name: settled.get(each.name, 0) for each in fields(Ports)})


def is_free(host: str, port: int) -> bool:
    """Tell whether a server could listen there now.

    Raises: StartRefused if the host is no address of this machine.
    """
    try:
        _bound(host, port).close()
    except PermissionError:
        raise StartRefused(
            f"Port {port} needs more rights than you have. Choose a port above 1023 with --port."
        ) from None
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise StartRefused(
                f"Cannot listen on '{host}': it is no address of this machine. Choose another with --host."
            ) from None
        return False
    return True


def _settle(wanted: Wanted, earlier: int, settled: Mapping[str, int]) -> int:
    taken = set(settled.values())
    if wanted.number in taken and wanted.number:
        raise StartRefused(
            f"Port {wanted.number} was chosen twice; give {wanted.label} another one with {wanted.option}."
        )
    if wanted.number:
        if not is_free(wanted.host, wanted.number):
            raise StartRefused(
                f"Port {wanted.number} for {wanted.label} is in use by another program. "
                f"Stop that program, or choose another port with {wanted.option}."
            )
        return wanted.number
    if earlier and earlier not in taken and is_free(wanted.host, earlier):
        return earlier
    while True:  # the system may offer what another part was just given
        with _bound(wanted.host, 0) as probe:
            found = int(probe.getsockname()[1])
        if found not in taken:
            return found


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
