"""What the doctor says about streams to other systems."""

from services.doctor.finding import FindingLevel
from services.doctor.streams import StreamFacts, stream_findings


def test_a_paused_stream_is_a_warning_that_names_the_command() -> None:
    tables = [StreamFacts("lake", "public.a", state, "", "") for state in ("following", "paused")]

    [finding] = stream_findings(tables)

    assert finding.level == FindingLevel.WARNING
    assert "lake is paused" in finding.text
    assert "headwater streams resume lake" in finding.cure
    assert stream_findings(tables[:1])[0].level == FindingLevel.OK
