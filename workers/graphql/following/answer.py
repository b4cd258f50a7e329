"""The questions of the edge of subscriptions: PLAN, RUN and ROWS (`schemas/subscriptions.py`).

What is made of an operation is kept for as long as the schema of its role.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import msgspec
from graphql import OperationType
from graphql.language import OperationDefinitionNode

from broker.requests.handler import StreamedResponse
from schemas import subscriptions
from schemas.http import Response
from schemas.subscriptions import LiveQueryPlan, OperationErrors, RowsAnswer, RowsQuery, SubscriptionPlan
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import TransactionSpec
from workers.graphql.errors import BadRequest, GraphQLFailure
from workers.graphql.execute import Around, Outcome, bind, execute, failure_of
from workers.graphql.following.changes import ChangesPlan, plan_changes
from workers.graphql.following.operation import LiveQuery, TableChanges, subscription_of
from workers.graphql.following.tables import published, tables_of
from workers.graphql.parse.body import Asked
from workers.graphql.parse.limits import Limits
from workers.graphql.plan.inputs import Lessons
from workers.graphql.plan.operation import Introspect, plan_operation
from workers.graphql.respond import respond
from workers.graphql.role import Known, RoleState, keep
from workers.request_context.identity import RequestIdentity

_KEPT = 1000
"""Subscriptions of one role whose plans are kept."""
_LONGEST_KEPT = 32 * 1024
_read_rows = msgspec.msgpack.Decoder(RowsQuery).decode


@dataclass(frozen=True, slots=True)
class Asking:
    """A subscription with whose it is."""

    asked: Asked
    text: str
    role: RoleState
    identity: RequestIdentity
    limits: Limits


class Following:
    """Answers about subscriptions."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._live: WeakKeyDictionary[RoleState, dict[object, Known]] = WeakKeyDictionary()
        self._changes: WeakKeyDictionary[RoleState, dict[object, ChangesPlan]] = WeakKeyDictionary()

    async def plan(self, asking: Asking) -> Response:
        """Say what has to be followed for a subscription. Raises: GraphQLFailure, DatabaseError."""
        return _packed(await self._plan(asking))

    async def run(self, asking: Asking, around: Around) -> Response | StreamedResponse:
        """Run a live query once. Raises: GraphQLFailure; as `execute`."""
        operation = asking.role.compiled(self._query(asking), asking.asked.variables)
        outcome = Outcome(operation.fields)
        for place, one in enumerate(operation.fields):
            if isinstance(one.work, GraphQLFailure):
                outcome.failures[place] = one.work
        bound = bind(operation, outcome, asking.asked.variables)
        await execute(operation, bound, outcome, around, self._pool)
        return respond(outcome, is_mutation=False)

    async def rows(self, asking: Asking, keys: Sequence[Sequence[str]], around: Around) -> Response:
        """Read changed rows, all in one transaction. Raises: GraphQLFailure; Disconnected, PoolTimeout."""
        plan = self._plan_of_changes(asking)
        each = len(plan.rows)
        found = [plan.statements(key, asking.asked.variables) for key in keys]
        statements = [*around.before, *(one for group in found for one in group)]
        try:
            work = TransactionSpec(around.settings, statements, read_only=True, isolation=around.isolation)
            results = (await self._pool.run(work))[len(around.before) :]
        except DatabaseError as error:
            return _packed(RowsAnswer([], errors=errors_text(failure_of(error))))
        values = [rows[0][0] for rows in results]
        groups = [values[place : place + each] for place in range(0, len(values), each)] if each else []
        missing = [place for place, group in enumerate(groups) if group[-1] is None]
        return _packed(RowsAnswer([_row(plan, group) for group in groups], missing))

    async def _plan(self, asking: Asking) -> SubscriptionPlan:
        found = _subscription(asking)
        if isinstance(found, TableChanges):
            plan = plan_changes(found, asking.identity, asking.asked.variables)
            tables = await published([plan.told.table], self._pool)
            if plan.told.table not in tables:
                raise GraphQLFailure(
                    "The changes of this partitioned table are published as those of its partitions:"
                    " alter publication supabase_realtime set (publish_via_partition_root = true);",
                    "NOT_PUBLISHED",
                )
            return plan.told
        document = asking.role.operation(asking.text, asking.asked.operation).document
        planned = plan_operation(
            document, found.operation, asking.role.schema, asking.asked.variables, asking.limits, Lessons()
        )
        for one in planned.fields:
            if isinstance(one.work, GraphQLFailure):
                raise one.work
        roots = [one.work for one in planned.fields if not isinstance(one.work, str | Introspect)]
        return LiveQueryPlan(await published(tables_of(roots, asking.role.schema), self._pool))

    def _query(self, asking: Asking) -> Known:
        """Give the query of a live query. Which field it has may hang on variables."""
        kept = self._live.setdefault(asking.role, {})
        key = _key(asking)
        known = kept.get(key)
        if known is None:
            found = _subscription(asking)
            if not isinstance(found, LiveQuery):
                raise GraphQLFailure("This is no live query")
            document = asking.role.operation(asking.text, asking.asked.operation).document
            known = Known(document, found.operation)
            if len(asking.text) <= _LONGEST_KEPT:
                keep(kept, key, known, _KEPT)
        return known

    def _plan_of_changes(self, asking: Asking) -> ChangesPlan:
        kept = self._changes.setdefault(asking.role, {})
        key = (_key(asking), asking.identity.claims)
        plan = kept.get(key)
        if plan is None:
            found = _subscription(asking)
            if not isinstance(found, TableChanges):
                raise GraphQLFailure("This is no subscription to changes")
            plan = plan_changes(found, asking.identity, asking.asked.variables)
            if len(asking.text) <= _LONGEST_KEPT:
                keep(kept, key, plan, _KEPT)
        return plan


def read_rows(data: bytes) -> RowsQuery:
    """Read the body of ROWS. Raises: BadRequest."""
    try:
        asked = _read_rows(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadRequest("The question cannot be read") from None
    if not 0 < len(asked.keys) <= subscriptions.MOST_ROWS:
        raise BadRequest("Too many rows, or none")
    return asked


def is_subscription(operation: OperationDefinitionNode) -> bool:
    """Tell whether an operation is a subscription."""
    return operation.operation is OperationType.SUBSCRIPTION


def _subscription(asking: Asking) -> LiveQuery | TableChanges:
    known = asking.role.operation(asking.text, asking.asked.operation)
    if not is_subscription(known.operation):
        raise GraphQLFailure("This is no subscription")
    return subscription_of(
        known.document, known.operation, asking.role.schema, asking.asked.variables, asking.limits
    )


def _key(asking: Asking) -> object:
    variables: Mapping[str, object] = asking.asked.variables
    return (asking.text, asking.asked.operation, msgspec.json.encode(variables))


def _row(plan: ChangesPlan, values: Sequence[bytes | None]) -> list[bytes] | None:
    """Give what is selected of a row. All its nodes come of one snapshot of it or of close ones: one that is gone counts."""
    if plan.told.is_filtered and any(value is None for value in values):
        return None
    return [b"null" if value is None else value for value in values[: plan.told.nodes]]


def refused(failure: GraphQLFailure) -> Response:
    """Give the answer to PLAN for an operation that cannot be done."""
    return _packed(OperationErrors(errors_text(failure)))


def errors_text(failure: GraphQLFailure) -> bytes:
    """Give the JSON of `errors`."""
    extensions = {} if failure.code is None else {"extensions": {"code": failure.code}}
    return msgspec.json.encode([{"message": failure.message, **extensions}])


def _packed(what: SubscriptionPlan | RowsAnswer) -> Response:
    return Response(200, [("content-type", subscriptions.MEDIA_TYPE)], msgspec.msgpack.encode(what))
