"""Builds the handlers of all routes from the settings: which areas are on, their CORS policies, what they share."""

from collections.abc import Mapping

from broker.requests.call import Calls
from schemas.settings.tree import Settings
from schemas.sync import data_folder
from services.dashboard.files import DashboardFiles
from services.gateway.functions import FunctionCaller
from services.gateway.handlers import (
    DashboardHandler,
    DisabledHandler,
    FunctionHandler,
    GraphQLHandler,
    ManagementHandler,
    RestHandler,
)
from services.gateway.live_handlers import RealtimeHandler, SyncHandler
from services.gateway.objects.shape_files import ShapeFiles
from services.gateway.objects.storage_handlers import ResumableUploadHandler, S3Handler, StorageHandler
from services.gateway.objects.transfers import ObjectTransfers
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.forward import Forwarder
from services.gateway.requests.recent_writes import RecentWrites
from services.gateway.requests.route_handler import ForwardHandler, RouteHandler
from services.gateway.requests.routes import ROUTES, HandlerName, areas_off
from services.gateway.requests.transfer_rate import TransferLimits
from services.middleware import cors
from services.middleware.caller_key import CallerKeys
from services.realtime import edge as realtime
from services.subscriptions.edge import GraphQLSocketEdge
from services.subscriptions.live_reads import LiveReads
from services.sync.edge import SyncEdge


def build_handlers(
    settings: Settings,
    calls: Calls,
    authenticator: Authenticator,
    objects: ObjectTransfers | None,
    sockets: realtime.RealtimeEdge | None,
    subscriptions: GraphQLSocketEdge | None,
    recent_writes: RecentWrites,
    live_reads: LiveReads | None = None,
    shapes: SyncEdge | None = None,
) -> Mapping[HandlerName, RouteHandler]:
    """Return a handler for every name that a route has; that of an interface which is switched off answers 501."""
    gateway = settings.gateway
    policies = _policies(settings)
    limits, keys = TransferLimits.of(gateway), CallerKeys()
    forwarder = Forwarder(
        calls, max_body=gateway.max_body, limits=limits, request_timeout=gateway.request_timeout
    )
    subjects = {route.handler: route.subject for route in ROUTES}
    graphql = GraphQLHandler(policies["graphql"], forwarder, keys, subjects[HandlerName.GRAPHQL])
    graphql.subscriptions = subscriptions
    rest = RestHandler(
        policies["rest"],
        forwarder,
        keys,
        subjects[HandlerName.REST],
        sends_client=False,  # the hottest path does not use the client's address
    )
    rest.live_reads = live_reads
    graphql.recent_writes = rest.recent_writes = recent_writes
    functions = FunctionCaller(calls, settings.edge_runtime, limits)
    handlers: dict[HandlerName, RouteHandler] = {
        HandlerName.REST: rest,
        HandlerName.GRAPHQL: graphql,
        HandlerName.AUTH: ForwardHandler(policies["auth"], forwarder, keys, subjects[HandlerName.AUTH]),
        HandlerName.FUNCTIONS: FunctionHandler(
            policies["functions"],
            forwarder,
            keys,
            subjects[HandlerName.FUNCTIONS],
            functions,
            runs_pages=settings.edge_runtime.same_origin_pages,
        ),
    }
    handlers[HandlerName.MANAGEMENT] = ManagementHandler(
        policies["management"], forwarder, keys, subjects[HandlerName.MANAGEMENT]
    )
    for name, policy in (
        (HandlerName.AGENTS, cors.policy_of("mcp", settings.management.mcp_origins or [cors.NO_ORIGIN])),
        (HandlerName.AGENT_SIGN_IN, cors.policy_of("mcp", settings.api.cors_allowed_origins)),
    ):
        handlers[name] = ManagementHandler(policy, forwarder, keys, subjects[HandlerName.MANAGEMENT])
    handlers[HandlerName.SCHEMA_METADATA] = ForwardHandler(
        policies["pg"], forwarder, keys, subjects[HandlerName.SCHEMA_METADATA]
    )
    handlers[HandlerName.DASHBOARD] = DashboardHandler(policies["dashboard"], DashboardFiles())
    if sockets is not None:
        handlers[HandlerName.REALTIME] = RealtimeHandler(policies["realtime"], forwarder, sockets)
    if shapes is not None:
        handlers[HandlerName.SYNC] = SyncHandler(
            policies["sync"],
            forwarder,
            keys,
            subjects[HandlerName.SYNC],
            shapes,
            ShapeFiles(data_folder(settings.sync.path)),
        )
    if objects is not None:
        largest, policy = settings.storage.largest, policies["storage"]
        handlers |= {
            HandlerName.STORAGE: StorageHandler(policy, forwarder, keys, objects),
            HandlerName.S3: S3Handler(policy, forwarder, keys, objects, authenticator, limits),
            HandlerName.RESUMABLE_UPLOAD: ResumableUploadHandler(policy, forwarder, keys, objects, largest),
        }
    off = areas_off(settings)
    for route in ROUTES:
        if route.area in off or route.handler not in handlers:
            handlers[route.handler] = DisabledHandler(policies[route.area])
    return handlers


def _policies(settings: Settings) -> dict[str, cors.CorsPolicy]:
    """Return the CORS policy of each area. `api.server_trace_header` names a header of REST's responses."""
    traced = settings.api.server_trace_header
    return {
        route.area: cors.policy_of(
            route.area, settings.api.cors_allowed_origins, [traced] if traced and route.area == "rest" else []
        )
        for route in ROUTES
    }
