"""Answer a query with one root field, which most requests are: one statement, whose value is the whole answer.

The steps are those of `execute.py` and `respond.py` without what several fields need: no bookkeeping by index, no
reset of the session between fields, no second run of the fields that did not fail. Hot path.
"""

from collections.abc import Mapping

from broker.requests.handler import StreamedResponse
from schemas.http import Response
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import TransactionSpec
from workers.graphql.compilation import SingleRead
from workers.graphql.errors import GraphQLFailure, RefusedOperation
from workers.graphql.execute import TransactionContext, check_stale, failure_from
from workers.graphql.respond import data_response, failure_response


async def answer_single_read(
    read: SingleRead, variables: Mapping[str, object], context: TransactionContext, pool: ConnectionPool
) -> Response | StreamedResponse:
    """Run the statement for the variables of a request, and return the answer.

    Raises: RefusedOperation for a variable of the wrong type; StaleSchema, Disconnected, PoolTimeout; DatabaseError when the
    transaction cannot be opened.
    """
    try:
        statement = read.template.statement(variables)
    except GraphQLFailure as failure:
        raise RefusedOperation([failure]) from None
    preceding = context.preceding
    spec = TransactionSpec(
        context.settings,
        [*preceding, statement],
        read_only=True,
        isolation=context.isolation,
        may_share=not preceding,
        may_run_on_replica=True,
    )
    try:
        results, long = await pool.run_long(spec)
    except DatabaseError as error:
        if error.statement_index != len(preceding):  # not the field's own statement
            raise
        check_stale(error, context)
        return failure_response([failure_from(error)])
    return data_response(read.head, results[-1][0][0] if long is None else long)
