from hypothesis import given
from hypothesis import strategies as st

from workers.replication.messages import message_id, order
from workers.replication.pgoutput import (
    BeginMessage,
    CommitMessage,
    InsertMessage,
    LoggedRelation,
    LogicalMessage,
    RelationColumn,
)
from workers.replication.transactions import (
    MAX_BYTES,
    MAX_CHANGES,
    LoggedTransactionEnd,
    TableDraft,
    TransactionAssembler,
)

TABLES = [
    LoggedRelation(oid, "public", f"t{oid}", "d", (RelationColumn("id", 23, -1, True),)) for oid in (1, 2, 3)
]


def made(messages, schema_lsn=0) -> list[TableDraft | LoggedTransactionEnd]:
    rows = TransactionAssembler(schema_lsn)
    learned = [(table, 10) for table in TABLES]
    return [each for message, size in [*learned, *messages] for each in rows.take(message, size)]


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(1, MAX_BYTES * 2)), max_size=60))
def test_a_transaction_is_cut_alike_every_time_and_nothing_is_left_out(inserts):
    messages = [
        (BeginMessage(100, 5), 20),
        *((InsertMessage(oid, [b"1"]), size) for oid, size in inserts),
        (CommitMessage(100, 120), 20),
    ]

    drafts = [each for each in made(messages) if isinstance(each, TableDraft)]
    again = [each for each in made(messages, schema_lsn=50) if isinstance(each, TableDraft)]

    assert [(each.number, each.relation, each.changes) for each in drafts] == [
        (each.number, each.relation, each.changes) for each in again
    ]
    assert [each.number for each in drafts] == list(range(len(drafts)))
    for table in TABLES:
        sizes = [change.size for each in drafts if each.relation == table for change in each.changes]
        assert sizes == [size for oid, size in inserts if oid == table.oid]
    for each in drafts:
        assert len(each.changes) == 1 or sum(change.size for change in each.changes) <= MAX_BYTES


def test_many_changes_are_cut_by_their_number():
    messages = [
        (BeginMessage(100, 5), 20),
        *[(InsertMessage(1, [b"1"]), 1)] * (MAX_CHANGES + 1),
        (CommitMessage(100, 120), 20),
    ]

    *drafts, ended = made(messages)

    assert [len(each.changes) for each in drafts] == [MAX_CHANGES, 1]
    assert ended == LoggedTransactionEnd(120, False)


def test_a_mark_counts_for_its_transaction_and_all_after_it():
    mark = LogicalMessage(True, 90, "headwater", b"schema")
    plain = [(BeginMessage(100, 5), 20), (InsertMessage(1, [b"1"]), 1), (CommitMessage(100, 120), 20)]
    marked = [
        (BeginMessage(200, 5), 20),
        (InsertMessage(1, [b"1"]), 1),
        (mark, 20),
        (CommitMessage(200, 220), 20),
    ]
    later = [(BeginMessage(300, 5), 20), (InsertMessage(1, [b"1"]), 1), (CommitMessage(300, 320), 20)]

    found = made([*plain, *marked, *later], schema_lsn=50)

    assert [each.schema_lsn for each in found if isinstance(each, TableDraft)] == [50, 200, 200]
    assert [each.is_marked for each in found if isinstance(each, LoggedTransactionEnd)] == [
        False,
        True,
        False,
    ]


@given(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)))
def test_ids_tell_the_place(place):
    assert order(message_id(*place)) == place


@given(st.text(max_size=10))
def test_ids_of_others_stand_before_all(text):
    assert order(text) == (0, 0) or "-" in text


def test_changes_carry_the_cause_before_them_and_history_itself_is_left_out():
    def cause(text: bytes) -> tuple[LogicalMessage, int]:
        return LogicalMessage(True, 90, "headwater.cause", text), 10

    insert = (InsertMessage(1, [b"1"]), 1)
    own = LoggedRelation(9, "headwater_history", "v1_2026", "d", (RelationColumn("id", 23, -1, True),))
    begin, commit = (BeginMessage(100, 5), 20), (CommitMessage(100, 120), 20)

    [draft, _] = made(
        [begin, insert, cause(b"a"), insert, insert, cause(b"a"), insert, cause(b"b" * 3000), insert, commit]
    )
    switching = [each for number in range(20) for each in (cause(b"%d" % number), insert)]
    first, second, _ = made([begin, *switching, commit])
    [later, _] = made([begin, cause(b"a"), commit, begin, insert, commit])[1:]
    ends = made([begin, (own, 10), (InsertMessage(9, [b"1"]), 1), commit])

    assert draft.causes == [(1, b"a"), (4, b"")]  # a message that is too long says nothing
    assert [len(each.changes) for each in (first, second)] == [16, 4]
    assert second.causes[0] == (0, b"16")
    assert later.causes == []
    assert ends == [LoggedTransactionEnd(120, False)]
