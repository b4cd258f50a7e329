"""The gateway's report about the platform's parts: the answer of `/health/ready`, part by part."""

import http.client
import json
import ssl
import urllib.error
import urllib.request

from schemas.settings.tree import Settings
from services.doctor.finding import DoctorFinding, FindingLevel
from services.supervisor.addresses import gateway_url
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.ports import Ports

_ANSWER_S = 5.0
_LONGEST = 64 * 1024


def look_at_readiness(settings: Settings, state: PlatformState) -> list[DoctorFinding]:
    """Request `/health/ready` from the gateway of a running platform; empty if no gateway runs here."""
    ports = Ports(**state.ports)
    if not ports.api:
        return []
    url = f"{gateway_url(settings, ports)}/health/ready"
    # The certificate is for the public name, not for this address of our own (`gateway.host`); no secret is sent.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323 - see above
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S, context=context) as response:  # noqa: S310 - our own address
            return read_readiness(response.read(_LONGEST))
    except urllib.error.HTTPError as error:
        with error:
            return read_readiness(error.read(_LONGEST))
    except (OSError, http.client.HTTPException) as error:
        cure = "Read why: `headwater logs edges`; a part that hangs is killed and started again after ten seconds."
        reason = getattr(error, "reason", None) or error
        return [DoctorFinding("gateway", FindingLevel.ERROR, f"it does not answer: {reason}", cure)]


def read_readiness(body: bytes) -> list[DoctorFinding]:
    """Return the findings of an answer of `/health/ready` (pure)."""
    try:
        report = json.loads(body)
        status, parts = report["status"], dict(report["parts"])
    except (ValueError, KeyError, TypeError):
        return [
            DoctorFinding(
                "gateway", FindingLevel.ERROR, "its answer to /health/ready is not one of a gateway"
            )
        ]
    if status == "leaving":
        return [DoctorFinding("gateway", FindingLevel.WARNING, "it is about to stop")]
    faulty = {part: str(state) for part, state in parts.items() if state != "ok"}
    if not faulty:
        return [
            DoctorFinding(
                "ready", FindingLevel.OK, f"the gateway answers, and so do {', '.join(sorted(parts))}"
            )
        ]
    return [DoctorFinding(part, FindingLevel.ERROR, state, _cure(part)) for part, state in faulty.items()]


def _cure(part: str) -> str:
    if part.startswith("stream "):
        return (
            "Free some room on the disk of NATS: on one machine it is restarted by itself then, and nothing is lost. "
            "In a cluster restart the server that leads the stream, when its disk has room."
        )
    if part == "object store":
        return "Start it, or correct the settings in [storage]; on a disk of this machine look at its room and rights."
    if part == "broker":
        return "Read why: `headwater logs nats` and `headwater logs edges`."
    if part.startswith("database pool "):
        return "Its process stops and is started again by itself. Read how it came to this: `headwater logs`, `PoolStalled`."
    return f"Read why: `headwater logs`; it is the pool `{part}` that says so."
