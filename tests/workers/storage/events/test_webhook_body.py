"""The body of a post, as the official server spells it."""

import json

import pytest

from schemas.settings.storage import Storage
from schemas.settings.tree import Api, Settings
from tests.workers.storage.events.events import event_of
from workers.storage.events.webhook_body import WebhookTenant, body_of, tenant_of


def test_the_body_has_the_official_form_and_a_few_members_more() -> None:
    assert json.loads(body_of(event_of(7), WebhookTenant("project", "example.org"), 1_800_000_000)) == {
        "type": "Webhook",
        "event": {
            "$version": "v1",
            "id": "7-0",
            "sequence": 7,
            "type": "ObjectCreated:Put",
            "payload": {
                "tenant": {"ref": "project", "host": "example.org"},
                "bucketId": "avatars",
                "name": "a.txt",
                "version": "v",
                "metadata": {"size": 5},
                "uploadType": "standard",
                "reqId": "req-1",
                "owner": "me",
            },
            "applyTime": 1767323045600,
        },
        "sentAt": "2027-01-15T08:00:00Z",
        "tenant": {"ref": "project", "host": "example.org"},
    }


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        (Settings(project_id="p"), ""),
        (
            Settings(project_id="p", api=Api(external_url="https://api.example.org:8443/x")),
            "api.example.org:8443",
        ),
        (
            Settings(
                project_id="p",
                api=Api(external_url="https://api.example.org"),
                storage=Storage(public_url="http://u:secret@files.example.org"),
            ),
            "files.example.org",
        ),
    ],
)
def test_the_tenant_is_the_project_at_its_address(settings: Settings, host: str) -> None:
    assert tenant_of(settings) == WebhookTenant("p", host)
