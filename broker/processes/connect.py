"""Connect a process of the platform to the broker, and send over the connection what every process reports."""

from broker.nats.connection import NatsConnection
from broker.observability.fault_reports import FaultReporter
from broker.observability.log_feed import send_lines
from broker.observability.metrics import answer_collect
from broker.processes.lifecycle import ManagedProcess
from schemas.settings.tree import Settings, SettingsError


async def connect_broker(process: ManagedProcess, settings: Settings, name: str) -> NatsConnection:
    """Connect under a name that the server's list of connections shows; the connection drains with the process.

    Log lines and metrics of the process are sent over it. Raises: SettingsError without a URL, or with one that cannot be read;
    Unavailable if the broker does not answer.
    """
    if settings.broker.url is None:
        raise SettingsError(f"the process of the {name} needs broker.url (HEADWATER_BROKER_URL)")
    try:
        connection = await NatsConnection.open(
            settings.broker.url.reveal(),
            name=name,
            max_reconnect_wait=settings.broker.max_reconnect_wait,
            replicas=settings.broker.replicas,
        )
    except ValueError:  # its text may contain a part of the password
        raise SettingsError("broker.url must be nats://[user:password@]host[:port], or tls://...") from None
    process.on_drain(connection.drain)
    send_lines(process, connection)
    answer_collect(connection)
    return connection


def report_faults(process: ManagedProcess, connection: NatsConnection) -> None:
    """Report the faults of a process to the edges until it drains."""
    reporter = FaultReporter(connection)
    process.on_drain(reporter.close)
    reporter.start()
