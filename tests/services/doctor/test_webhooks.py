"""What is said of webhooks."""

from msgspec.structs import replace

from services.doctor.webhooks import WebhookFacts, webhook_findings

WELL = WebhookFacts("orders", "", is_failing=False, is_full=False, gap="", has_no_table=False)


def test_each_fault_is_said_with_what_to_do():
    assert webhook_findings([]) == []
    assert [finding.text for finding in webhook_findings([WELL])] == ["1 sends"]
    faults = [
        replace(WELL, paused="410"), replace(WELL, is_failing=True), replace(WELL, is_full=True), replace(WELL, gap="lost"),
        replace(WELL, has_no_table=True),
    ]  # fmt: skip
    texts = [finding.text for finding in webhook_findings([WELL, *faults])]
    assert texts == [
        "orders is paused: 410",
        "the receiver of orders takes nothing",
        "events may be missing at the receiver of orders: too many deliveries wait",
        "events may be missing at the receiver of orders: lost",
        "the table of orders does not exist",
    ]
    assert all(finding.cure for finding in webhook_findings(faults))
