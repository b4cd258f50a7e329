"""Functions that cannot be durable jobs are refused when the settings are read, with the key and the reason."""

import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("retries = 2", "functions.a.job: enabled is not set"),
        ("enabled = true\nconcurrency = 501", "functions.a.job: concurrency must be 500 at most"),
        ("enabled = true\nconcurrency = 0", "functions.a.job.concurrency must be a whole number above 0"),
        ("enabled = true\nretries = 1001", "retries must be 1000 at most"),
        ('enabled = true\nbackoff = "2h"', "backoff must be 0s to 1h"),
        ('enabled = true\nbackoff = "soon"', "backoff must be a duration"),
        ('enabled = true\nevents = [""]', "events must be at most 20 names"),
        ('enabled = true\n[functions.a.queue]\nqueue = "mail"', "a function that consumes a queue is no job"),
    ],
)
def test_a_job_that_cannot_be_is_refused(text: str, reason: str):
    with pytest.raises(SettingsError) as refused:
        load_settings(f"[functions.a.job]\n{text}".encode(), {})

    assert reason in str(refused.value)
