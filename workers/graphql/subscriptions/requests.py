"""Answer the requests of the subscription edge: PLAN, RUN and ROWS (`schemas/subscriptions.py`).

- PLAN: which tables' changes the edge must follow for a subscription.
- RUN: the current answer of a live query.
- ROWS: the rows of a batch of changes, by their keys, as the subscriber sees them.
Plans are cached as long as the schema of their role: the caches are keyed by weak references to the role's state.
"""

import asyncio
from collections.abc import Sequence
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
from workers.database.followed_tables import NotFollowed, followed_tables
from workers.database.transactions.model import TransactionSpec
from workers.graphql.errors import GraphQLFailure, MalformedRequest
from workers.graphql.execute import (
    OperationOutcome,
    TransactionContext,
    bind_statements,
    execute,
    failure_from,
)
from workers.graphql.model import Name
from workers.graphql.parse.body import GraphQLRequest
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.inputs import PlanDependencies
from workers.graphql.plan.operation import IntrospectionQuery, plan_operation
from workers.graphql.respond import respond
from workers.graphql.role import LONGEST_CACHED, CachedOperation, RoleState, store_bounded
from workers.graphql.subscriptions.changes import ChangesPlan, plan_changes
from workers.graphql.subscriptions.operation import LiveQuery, TableChanges, classify_subscription
from workers.graphql.subscriptions.tables import names_in_plans
from workers.request_context.identity import RequestIdentity

_MOST_CACHED = 1000
"""Plans in the cache of one role."""
_read_rows = msgspec.msgpack.Decoder(RowsQuery).decode


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """A subscription of a client, with the role and identity of its caller."""

    request: GraphQLRequest
    text: str
    role: RoleState
    identity: RequestIdentity
    limits: OperationLimits


class SubscriptionQueries:
    """Answers PLAN, RUN and ROWS."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._live: WeakKeyDictionary[RoleState, dict[object, CachedOperation]] = WeakKeyDictionary()
        self._changes: WeakKeyDictionary[RoleState, dict[object, ChangesPlan]] = WeakKeyDictionary()

    async def plan(self, subscription: SubscriptionRequest) -> Response:
        """Return the tables to follow for a subscription, packed. Raises: GraphQLFailure, DatabaseError."""
        return _packed_response(await self._plan(subscription))

    async def run(
        self, subscription: SubscriptionRequest, context: TransactionContext
    ) -> Response | StreamedResponse:
        """Run a live query once and return its answer. Raises: GraphQLFailure; as `execute`."""
        operation = subscription.role.compile(self._query(subscription), subscription.request.variables)
        outcome = OperationOutcome(operation.fields)
        for index, field in enumerate(operation.fields):
            if isinstance(field.work, GraphQLFailure):
                outcome.failures[index] = field.work
        bound = bind_statements(operation, outcome, subscription.request.variables)
        await execute(operation, bound, outcome, context, self._pool)
        return respond(outcome, is_mutation=False)

    async def rows(
        self, subscription: SubscriptionRequest, keys: Sequence[Sequence[str]], context: TransactionContext
    ) -> Response:
        """Read the changed rows with some keys in one transaction. Raises: GraphQLFailure; Disconnected, PoolTimeout."""
        plan = self._plan_of_changes(subscription)
        statements_per_row = len(plan.rows)
        groups = [plan.statements(key, subscription.request.variables) for key in keys]
        statements = [*context.preceding, *(statement for group in groups for statement in group)]
        try:
            work = TransactionSpec(context.settings, statements, read_only=True, isolation=context.isolation)
            results = (await self._pool.run(work))[len(context.preceding) :]
        except DatabaseError as error:
            return _packed_response(RowsAnswer([], errors=errors_text(failure_from(error))))
        values = [rows[0][0] for rows in results]
        values_by_row = (
            [
                values[index : index + statements_per_row]
                for index in range(0, len(values), statements_per_row)
            ]
            if statements_per_row
            else []
        )
        missing = [index for index, group in enumerate(values_by_row) if group[-1] is None]
        return _packed_response(RowsAnswer([_row(plan, group) for group in values_by_row], missing))

    async def _plan(self, subscription: SubscriptionRequest) -> SubscriptionPlan:
        classified = _classify(subscription)
        if isinstance(classified, TableChanges):
            plan = plan_changes(classified, subscription.identity, subscription.request.variables)
            await _check(subscription)
            live = await self._followed([plan.description.table], [])
            if plan.description.table not in live.tables:
                raise GraphQLFailure(
                    "The changes of this partitioned table are published as those of its partitions:"
                    " alter publication supabase_realtime set (publish_via_partition_root = true);",
                    "NOT_PUBLISHED",
                )
            return plan.description
        document = subscription.role.operation(subscription.text, subscription.request.operation).document
        planned = plan_operation(
            document,
            classified.operation,
            subscription.role.schema,
            subscription.request.variables,
            subscription.limits,
            PlanDependencies(),
        )
        for field in planned.fields:
            if isinstance(field.work, GraphQLFailure):
                raise field.work
        roots = [
            field.work for field in planned.fields if not isinstance(field.work, str | IntrospectionQuery)
        ]
        return await self._followed(*names_in_plans(roots, subscription.role.schema))

    async def _followed(self, relations: Sequence[Name], functions: Sequence[Name]) -> LiveQueryPlan:
        try:
            return await followed_tables(relations, functions, self._pool)
        except NotFollowed as error:
            raise GraphQLFailure(str(error), error.code) from None

    def _query(self, subscription: SubscriptionRequest) -> CachedOperation:
        """Return the query of a live query. Its field may depend on variables (`@skip`), so these are in the cache key."""
        store = self._live.setdefault(subscription.role, {})
        key, length = _cache_key(subscription)
        cached = store.get(key)
        if cached is None:
            classified = _classify(subscription)
            if not isinstance(classified, LiveQuery):
                raise GraphQLFailure("This is no live query")
            document = subscription.role.operation(subscription.text, subscription.request.operation).document
            cached = CachedOperation(document, classified.operation)
            if length <= LONGEST_CACHED:
                store_bounded(store, key, cached, _MOST_CACHED)
        return cached

    def _plan_of_changes(self, subscription: SubscriptionRequest) -> ChangesPlan:
        store = self._changes.setdefault(subscription.role, {})
        key_of_request, length = _cache_key(subscription)
        key = (key_of_request, subscription.identity.claims)
        plan = store.get(key)
        if plan is None:
            classified = _classify(subscription)
            if not isinstance(classified, TableChanges):
                raise GraphQLFailure("This is no subscription to changes")
            plan = plan_changes(classified, subscription.identity, subscription.request.variables)
            if length <= LONGEST_CACHED:
                store_bounded(store, key, plan, _MOST_CACHED)
        return plan


def read_rows(data: bytes) -> RowsQuery:
    """Parse the body of ROWS. Raises: MalformedRequest."""
    try:
        rows_request = _read_rows(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedRequest("The question cannot be read") from None
    if not 0 < len(rows_request.keys) <= subscriptions.MOST_ROWS:
        raise MalformedRequest("Too many rows, or none")
    return rows_request


def is_subscription(operation: OperationDefinitionNode) -> bool:
    """Return whether an operation is a subscription."""
    return operation.operation is OperationType.SUBSCRIPTION


def _classify(subscription: SubscriptionRequest) -> LiveQuery | TableChanges:
    cached = subscription.role.operation(subscription.text, subscription.request.operation)
    if not is_subscription(cached.operation):
        raise GraphQLFailure("This is no subscription")
    return classify_subscription(
        cached.document,
        cached.operation,
        subscription.role.schema,
        subscription.request.variables,
        subscription.limits,
    )


async def _check(subscription: SubscriptionRequest) -> None:
    """Validate a subscription to changes. The first check of a role takes longer, so it is done in a thread.

    Raises: GraphQLFailure.
    """
    role, variables = subscription.role, subscription.request.variables
    cached = role.operation(subscription.text, subscription.request.operation)
    if role.validator.is_ready:
        role.check_subscription(cached, variables)
    else:
        await asyncio.to_thread(role.check_subscription, cached, variables)


def _cache_key(subscription: SubscriptionRequest) -> tuple[object, int]:
    """Return the key of a subscription with its values, and the characters in it: clients choose both text and values."""
    text, variables = subscription.text, msgspec.json.encode(subscription.request.variables)
    return (text, subscription.request.operation, variables), len(text) + len(variables)


def _row(plan: ChangesPlan, values: Sequence[bytes | None]) -> list[bytes] | None:
    """Return the selected nodes of a row. With a filter, return None if any of them is missing.

    Each node is read by a statement of its own, possibly in a slightly later snapshot. So a row that one of them does not
    find, because it was deleted or no longer passes the filter, counts as not found.
    """
    if plan.description.is_filtered and any(value is None for value in values):
        return None
    return [b"null" if value is None else value for value in values[: plan.description.nodes]]


def plan_rejection(failure: GraphQLFailure) -> Response:
    """Return the answer to PLAN for a subscription that is rejected."""
    return _packed_response(OperationErrors(errors_text(failure)))


def errors_text(failure: GraphQLFailure) -> bytes:
    """Return the JSON of `errors`."""
    extensions = {} if failure.code is None else {"extensions": {"code": failure.code}}
    return msgspec.json.encode([{"message": failure.message, **extensions}])


def _packed_response(message: SubscriptionPlan | RowsAnswer) -> Response:
    return Response(200, [("content-type", subscriptions.MEDIA_TYPE)], msgspec.msgpack.encode(message))
