"""An object store that is gone: readiness, doctor and the metrics name it, and it heals by itself."""

import json
import time
from collections.abc import Callable

import pytest

from tests.broker.s3_server import KEY, running_s3
from tests.platform import platform

pytestmark = [pytest.mark.process_group("object-store"), pytest.mark.timeout(240)]

_PATIENCE_S = 60


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_a_store_that_is_gone_is_named_by_readiness_doctor_and_metrics() -> None:
    with running_s3() as s3:
        names = {
            "STORAGE_BACKEND": "s3",
            "STORAGE_S3_BUCKET": s3.bucket,
            "STORAGE_S3_ENDPOINT": s3.url,
            "STORAGE_S3_FORCE_PATH_STYLE": "true",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": KEY,
        }
        with platform(environment=names) as running_platform:
            _until(lambda: running_platform.get("/health/ready")[0] == 200, "the platform is not ready")
            s3.stop()
            _until(
                lambda: running_platform.get("/health/ready")[0] == 503, "readiness does not notice the store"
            )
            parts = json.loads(running_platform.get("/health/ready")[1])["parts"]
            doctor = running_platform.command("doctor")
            metrics = running_platform.metrics()[1].decode()
            s3.start()
            _until(lambda: running_platform.get("/health/ready")[0] == 200, "the platform is not ready again")

    assert parts["object store"].startswith("cannot list")
    assert parts["storage"].startswith("the object store does not work")
    assert (parts["rest"], parts["auth"]) == ("ok", "ok")
    assert (doctor.returncode, "object store" in doctor.stdout) == (1, True)
    assert _sample(metrics, "headwater_object_store_up") == 0


def _sample(metrics: str, name: str) -> float:
    line = next(line for line in metrics.splitlines() if line.startswith(f"{name}{{"))
    return float(line.rpartition(" ")[2])
