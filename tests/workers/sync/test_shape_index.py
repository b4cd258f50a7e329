"""Shapes that a batch of changes may concern: none is left out, and those with other constants are."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, RowChange
from workers.sync.changes import work_of
from workers.sync.shape_index import ShapeIndex
from workers.sync.shape_members import ShapeMembers

_TABLE = ("public", "notes")
_COLUMNS = [ChangeColumn("id", "int4"), ChangeColumn("tag", "text")]


class _IndexedShape:
    """What the index and `work_of` ask of a shape."""

    def __init__(
        self, constant: str | None, members: set[str] | None, *, is_behind: bool, is_reader: bool
    ) -> None:
        self.resolved: Any = SimpleNamespace(
            own=frozenset({_TABLE}),
            others=frozenset({_TABLE} if is_reader else ()),
            equal={} if constant is None else {"tag": constant},
            has_plain_key=True,
            table=SimpleNamespace(key=["id"]),
            sql=SimpleNamespace(key=(SimpleNamespace(name="id", base="int4"),)),
        )
        self.is_behind = is_behind
        self.members = ShapeMembers('"public"."notes"')
        if members is not None:
            self.members._keys = {(one,) for one in members}

    def may_concern(self, key: tuple[str, ...]) -> bool:
        return self.is_behind or self.members.may_have(key)

    def may_concern_any(self, keys: set[tuple[str, ...]]) -> bool:
        return self.is_behind or self.members.may_have_any(keys)


_ids = st.sampled_from(["1", "2", "3"])
_shapes = st.lists(
    st.builds(
        _IndexedShape,
        st.sampled_from([None, "a", "b", "c"]),
        st.none() | st.sets(_ids),
        is_behind=st.booleans(),
        is_reader=st.booleans(),
    ),
    max_size=8,
)
_values = st.tuples(_ids.map(str.encode), st.sampled_from([b'"a"', b'"b"', b"null", None]))
_rows = st.one_of(
    st.builds(RowChange, st.just(ChangeKind.INSERT), _values.map(list)),
    st.builds(RowChange, st.just(ChangeKind.UPDATE), _values.map(list), _ids.map(lambda id: [id.encode(), None])),
    st.builds(RowChange, st.just(ChangeKind.DELETE), st.none(), _ids.map(lambda id: [id.encode(), None])),
    st.builds(RowChange, st.just(ChangeKind.DELETE), st.none(), st.just([None, None])),
    st.just(RowChange(ChangeKind.TRUNCATE)),
)  # fmt: skip


def _batch(*rows: RowChange, columns: list[ChangeColumn] = _COLUMNS) -> ChangeBatch:
    return ChangeBatch(*_TABLE, 7, 0, 0, 0, columns, "d", list(rows))


@given(_shapes, st.lists(_rows, max_size=3), st.booleans())
def test_no_shape_that_has_something_to_do_is_left_out(
    shapes: list[Any], rows: list[RowChange], has_key: bool
) -> None:
    index = ShapeIndex()
    for shape in shapes:
        index.add(shape)
    batches = [_batch(*rows, columns=_COLUMNS if has_key else [ChangeColumn("x", "int4"), _COLUMNS[1]])]

    found = index.of(batches)

    for shape in shapes:
        work = work_of(shape.resolved, batches, shape.may_concern)
        assert shape in found or not (work.is_needed or work.is_over)


def test_of_shapes_with_constants_of_their_own_only_two_are_found() -> None:
    shapes: list[Any] = [
        _IndexedShape(f"t{number}", {str(number)}, is_behind=False, is_reader=False) for number in range(50)
    ]
    index = ShapeIndex()
    for shape in shapes:
        index.add(shape)
    moved = _batch(RowChange(ChangeKind.UPDATE, [b"3", b'"t8"'], [b"3", None]))

    assert index.of([moved]) == {shapes[3], shapes[8]}
    shapes[8].resolved.equal = {"tag": "t9"}
    index.add(shapes[8])  # it is resolved anew
    index.discard(shapes[3])
    assert index.of([moved]) == set()
    for shape in shapes:
        index.discard(shape)
    assert index.of([_batch(RowChange(ChangeKind.TRUNCATE))]) == set()
