"""Which field of a mutation a database error belongs to."""

import pytest

from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement
from workers.graphql.execute import OperationOutcome, TransactionContext, mutation_from

_PRECEDING, _FIELD, _ID = 0, 1, 2


@pytest.mark.parametrize("index", [None, _PRECEDING, _ID])
def test_an_error_of_no_field_is_raised(index: int | None) -> None:
    context = TransactionContext((), preceding=[Statement("select before()")])
    mutation, outcome = mutation_from({0: (Statement("select 1"),)}, context), OperationOutcome(())
    error = DatabaseError("42883", "no function", statement_index=index)

    with pytest.raises(DatabaseError) as raised:
        mutation.fail(error, outcome)

    assert raised.value is error
    assert outcome.failures == {}


def test_an_error_of_a_field_is_recorded_there() -> None:
    mutation = mutation_from(
        {7: (Statement("select 1"),)}, TransactionContext((), preceding=[Statement("select 2")])
    )
    outcome = OperationOutcome(())

    mutation.fail(DatabaseError("22012", "division by zero", statement_index=_FIELD), outcome)

    assert [*outcome.failures] == [7]
