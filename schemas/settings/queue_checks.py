"""Checks of `[functions.<name>.queue]`: of one function, and of all functions together (pure)."""

import re
from collections.abc import Mapping

from schemas.settings.functions import FunctionQueue, FunctionSettings
from schemas.settings.types import Duration

MOST_BATCH, MOST_CALLS = 1000, 100
LEAST_VISIBILITY_S, LONGEST_VISIBILITY_S = 5.0, 12 * 3600.0
MOST_RETRIES = 1000
LONGEST_BACKOFF_S = 3600.0
_NAME = re.compile(r"[A-Za-z0-9_-]{1,47}")
"""Names of queues. Source: pgmq, `validate_queue_name`."""
_UNSET = FunctionQueue()


def queue_fault(queue: FunctionQueue) -> str | None:
    """Return why a function cannot consume its queue, beginning with the key at fault, or None."""
    if not queue.queue:
        return None if queue == _UNSET else 'queue names no queue: `queue = "name"` does'
    for key, name in (("queue", queue.queue), ("dead_letter", queue.dead_letter)):
        if name and not _NAME.fullmatch(name):
            return f"{key} must have 1 to 47 letters, digits, _ and -"
    if queue.dead_letter.lower() == queue.queue.lower():
        return "dead_letter must be another queue: messages that failed would never end"
    for key, count, most in (
        ("batch", queue.batch, MOST_BATCH),
        ("concurrency", queue.concurrency, MOST_CALLS),
        ("retries", queue.retries, MOST_RETRIES),
    ):
        if count > most:
            return f"{key} must be {most} at most"
    for key, text, least, most_s in (
        ("visibility", queue.visibility, LEAST_VISIBILITY_S, LONGEST_VISIBILITY_S),
        ("backoff", queue.backoff, 0.0, LONGEST_BACKOFF_S),
    ):
        try:
            seconds = Duration(text)
        except ValueError:
            return f"{key} must be {Duration.FORM}, in quotes"
        if not least <= seconds <= most_s:
            return f"{key} must be {Duration(least)} to {Duration(most_s)}"
    return None


def consumers_fault(functions: Mapping[str, FunctionSettings]) -> str | None:
    """Return why the functions cannot consume their queues, with the key in braces, or None."""
    consumers: dict[str, str] = {}
    for name, function in functions.items():
        if fault := queue_fault(function.queue):
            return f"{{functions.{name}.queue}}: {fault}"
        queue = function.queue.queue.lower()
        if not function.enabled or not queue:
            continue
        if queue in consumers:
            return f"{{functions.{name}.queue}}: the function {consumers[queue]} consumes the queue {queue} already"
        consumers[queue] = name
    for queue, name in consumers.items():
        dead = functions[name].queue.dead_letter.lower()
        passed = {queue}
        while dead in consumers and dead not in passed:
            passed.add(dead)
            dead = functions[consumers[dead]].queue.dead_letter.lower()
        if dead in passed:
            return f"{{functions.{name}.queue}}: dead_letter leads back to {dead}: messages that failed would never end"
    return None
