"""What is said of consumers of queues, drains of log lines, durable jobs, and tables with history."""

from msgspec.structs import replace

from services.doctor.drains import LogDrainFacts, drain_findings
from services.doctor.durable_jobs import DurableJobFacts, durable_job_findings
from services.doctor.history import HistoryFacts, history_findings
from services.doctor.queues import QueueConsumerFacts, queue_findings

WELL = QueueConsumerFacts("send", "mail", "run", problem="", is_failing=False, last_error="")
DRAIN = LogDrainFacts("loki", error="", lost=0, rejected=0)


def test_each_fault_of_a_consumer_is_said_with_what_to_do():
    assert queue_findings([]) == []
    assert [finding.text for finding in queue_findings([WELL, WELL])] == ["2 consumed"]
    faults = queue_findings([
        WELL, replace(WELL, problem="there is no queue mail"), replace(WELL, wanted="pause"),
        replace(WELL, is_failing=True, last_error="it answered with status 500"),
    ])  # fmt: skip

    assert [finding.text for finding in faults] == [
        "send does not consume mail: there is no queue mail",
        "the consumer of mail is paused",
        "send does nothing of mail: it answered with status 500",
    ]
    assert all(finding.cure for finding in faults)


def test_each_fault_of_a_drain_is_said_with_what_to_do():
    assert drain_findings([]) == []
    assert [finding.text for finding in drain_findings([DRAIN])] == ["1 sends"]
    faults = drain_findings(
        [DRAIN, replace(DRAIN, error="no connection"), replace(DRAIN, lost=3, rejected=1)]
    )

    assert [finding.text for finding in faults] == [
        "the receiver of loki takes nothing: no connection",
        "loki has lost 3 messages of lines, and its receiver rejected 1 lines",
    ]
    assert all(finding.cure for finding in faults)


def test_each_fault_of_a_job_is_said_with_what_to_do():
    well = DurableJobFacts("ship", failed=0, last_error="", is_stranded=False)
    assert durable_job_findings([]) == []
    assert [finding.text for finding in durable_job_findings([well])] == ["1 jobs"]
    faults = durable_job_findings([well, replace(well, is_stranded=True, failed=2, last_error="no card")])

    assert [finding.text for finding in faults] == [
        "runs of ship wait, and no function is this job any more",
        "2 runs of ship failed in the last day: no card",
    ]
    assert all(finding.cure for finding in faults)


def test_gaps_of_history_are_said():
    well = HistoryFacts("public.notes")
    assert history_findings([]) == []
    assert [finding.text for finding in history_findings([well])] == ["1 tables"]
    [fault] = history_findings([well, HistoryFacts("public.books", "the table was off", "2026-01-31 12:00")])

    assert (
        fault.text == "versions of public.books may be missing since 2026-01-31 12:00 UTC: the table was off"
    )
    assert fault.cure
