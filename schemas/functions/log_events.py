"""Define the log lines of functions: their output, and the events of their processes."""

from msgspec import Struct


class LogLine(Struct, frozen=True):
    """One line of a function, or one event of its process, on `logs.functions.<name>`.

    `event` is `log` for what it printed, else `boot`, `boot_error`, `imports`, `shutdown`, `limit` or `dropped`.
    """

    at: float
    """Epoch seconds."""
    function: str
    version: str
    execution: str
    """Id of the process, as the function sees it in SB_EXECUTION_ID."""
    level: str
    """debug, info, warning or error."""
    text: str
    request_id: str = ""
    event: str = "log"
