"""Which request made a change, as the leader of replication publishes it: only what a worker signed, once, and in its own term."""

import pytest

from schemas.causes import SignedCause, sign_cause
from schemas.changes import CausingRequest
from workers.replication.causing_requests import CausingRequests
from workers.replication.pgoutput import LoggedRelation, RelationColumn
from workers.replication.transactions import TableDraft

KEY, OTHER = b"k" * 32, b"o" * 32
NOW_MS = 1_700_000_000_000
TABLE = LoggedRelation(1, "public", "notes", "d", (RelationColumn("id", 23, -1, True),))


def cause(nonce: str = "n", key: bytes = KEY, ms: int = NOW_MS, request: str = "r-1") -> bytes:
    signed = sign_cause(key, SignedCause(nonce, ms, request, "authenticated", "ada", "rest", "PATCH /notes"))
    return f"{signed}\n1\nauthenticator\n".encode()


def draft(*causes: tuple[int, bytes], lsn: int = 16) -> TableDraft:
    return TableDraft(TABLE, lsn, (NOW_MS + 50) * 1000, causes=list(causes))


@pytest.mark.parametrize(
    "content",
    [cause(key=OTHER), cause(ms=NOW_MS - 2), b"\n1\npostgres\npsql", b"forged"],
    ids=["of another key", "from before the term", "without a signature", "of another form"],
)
def test_a_cause_that_is_not_believed_names_no_request(content: bytes):
    verifier = CausingRequests([KEY], since_ms=NOW_MS - 1)

    assert verifier.of(draft((0, content))) == []
    assert verifier.of(draft((0, content), (2, cause()))) == [
        (0, None),
        (2, CausingRequest("r-1", "authenticated", "ada")),
    ]


def test_a_cause_is_that_of_one_transaction():
    verifier = CausingRequests([KEY], since_ms=0)

    assert len(verifier.of(draft((0, cause())))) == 1
    assert len(verifier.of(draft((0, cause())))) == 1  # the log is read again
    assert verifier.of(draft((0, cause()), lsn=32)) == []
