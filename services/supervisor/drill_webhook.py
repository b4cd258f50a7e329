"""Sends the result of a restore drill to `backup.drill_webhook`, signed by Standard Webhooks, so that a failed one is an alarm elsewhere.

The process of the drill sends it, not the pool of webhooks: a drill runs beside a stopped platform too, and its failure may be the platform's.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPException
from typing import IO, Any

from standardwebhooks import Webhook

from broker.processes.drill_status import DrillStatus
from schemas.settings.backup import Backup

_PAUSES_S = (1.0, 2.0, 4.0, 8.0)
_ANSWER_S = 10.0
_MOST_FAULTS = 20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A receiver that redirects has not taken the message: what is signed goes to the configured address alone."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Follow none."""


def message_of(status: DrillStatus) -> str:
    """Return the body: whether the drill passed, and what it found (pure)."""
    at = datetime.fromtimestamp(status.began_at, UTC).isoformat(timespec="seconds")
    kind = "failed" if status.faults else "passed"
    data = {
        "moment": status.moment,
        "seconds": status.seconds,
        "faults": status.faults[:_MOST_FAULTS],
        "tables": status.tables,
        "rows": status.rows,
        "indexes": status.indexes,
        "areas": status.areas,
    }
    return json.dumps({"type": f"restore_drill.{kind}", "timestamp": at, "data": data})


def send_result(settings: Backup, status: DrillStatus, pause: Callable[[float], None] = time.sleep) -> str:
    """Send the result, five times at most until the receiver answers with 2xx; return why it did not, or an empty text.

    `pause` waits between two attempts: a receiver that restarts needs seconds.
    """
    if settings.drill_webhook is None:
        return ""
    reason = ""
    for wait_s in (*_PAUSES_S, 0.0):
        reason = _send(settings, status)
        if not reason:
            return ""
        pause(wait_s)
    return reason


def _send(settings: Backup, status: DrillStatus) -> str:
    assert settings.drill_webhook is not None  # the caller has looked
    body = message_of(status)
    id, now = f"drill-{int(status.began_at)}", datetime.now(UTC)
    headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
    }
    if settings.drill_webhook_secret is not None:
        headers["webhook-signature"] = Webhook(settings.drill_webhook_secret.reveal()).sign(id, now, body)
    try:
        request = urllib.request.Request(  # noqa: S310 - backup_checks.py takes http and https alone
            settings.drill_webhook.reveal(), body.encode(), headers, method="POST"
        )
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=_ANSWER_S) as answer:
            return "" if 200 <= answer.status < 300 else f"it answered {answer.status}"
    except urllib.error.HTTPError as error:
        error.close()
        return f"it answered {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        return str(getattr(error, "reason", "")) or type(error).__name__
