import pytest

from broker import subjects
from broker.subjects import Subject


@pytest.mark.parametrize("name", ["", "a b", "a.*", "a.>", "a..b", ".a", "a.", "a\r\nPUB b"])
def test_a_name_with_spaces_or_wildcards_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="is not a subject"):
        Subject(name)


def test_no_two_requests_share_a_subject_or_a_pool() -> None:
    assert len({subject.name for subject in subjects.REQUESTS}) == len(subjects.REQUESTS)
    assert len({subject.pool for subject in subjects.REQUESTS}) == len(subjects.REQUESTS)


def test_subjects_with_wildcards_or_spaces_are_not_inboxes() -> None:
    assert subjects.is_inbox("_INBOX.door.abc.1")
    assert not any(
        map(subjects.is_inbox, ["", "rest.request", "_INBOX.>", "_INBOX.*", "_INBOX.a b", "_INBOX.a\r\nPUB"])
    )
