"""Findings about webhooks (pure)."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "webhooks"


class WebhookFacts(Struct, frozen=True):
    """The state of a webhook; `paused` and `gap` are reasons, empty where there is none."""

    name: str
    paused: str
    is_failing: bool
    is_full: bool
    gap: str
    has_no_table: bool


def webhook_findings(webhooks: Sequence[WebhookFacts]) -> list[DoctorFinding]:
    """Return the findings; none if there are no webhooks."""
    faults = [finding for webhook in webhooks if (finding := _finding(webhook)) is not None]
    if faults or not webhooks:
        return faults
    return [
        DoctorFinding(_TITLE, FindingLevel.OK, f"{len(webhooks)} send{'s' if len(webhooks) == 1 else ''}")
    ]


def _finding(webhook: WebhookFacts) -> DoctorFinding | None:
    name, word = webhook.name, shlex.quote(webhook.name)
    if webhook.has_no_table:
        return _warning(
            f"the table of {name} does not exist", f"Remove it: `headwater webhooks remove {word}`."
        )
    if webhook.paused:
        return _warning(
            f"{name} is paused: {webhook.paused}",
            f"Mend its receiver, then `headwater webhooks resume {word}`.",
        )
    if webhook.is_full or webhook.gap:
        reason = webhook.gap or "too many deliveries wait"
        cure = f"Compare the receiver with the table, then `headwater webhooks resume {word}` clears this."
        return _warning(f"events may be missing at the receiver of {name}: {reason}", cure)
    if webhook.is_failing:
        cure = f"See why: `headwater webhooks deliveries {word}`. Events wait and are sent again."
        return _warning(f"the receiver of {name} takes nothing", cure)
    return None


def _warning(text: str, cure: str) -> DoctorFinding:
    return DoctorFinding(_TITLE, FindingLevel.WARNING, text, cure)
