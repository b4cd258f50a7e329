"""Log events of functions: the lines they print, and what happens to their processes."""

from msgspec import Struct


class LogLine(Struct, frozen=True):
    """One line of a function, or one event of its process, on `logs.functions.<name>`.

    `event` is `log` for printed lines, else `boot`, `boot_error`, `imports`, `shutdown`, `limit` or `dropped`.
    """

    at: float
    """Epoch seconds."""
    function: str
    version: str
    execution: str
    """Id of the process; the function sees it in SB_EXECUTION_ID."""
    level: str
    """debug, info, warning or error."""
    text: str
    request_id: str = ""
    event: str = "log"
    run: str = ""
    """Random for each process that publishes; its lines are numbered from 1, so that a missing one is seen."""
    number: int = 0
