"""Errors of the admin endpoints.

FunctionError (schemas/functions/errors.py)
├── AdminForbidden 401      ├── EndpointNotFound 404    ├── VersionNotFound 404
├── DeployRejected 422      ├── SecretRejected 422      ├── StoreUnavailable 503
├── DeployConflict 409      └── BadAdminRequest 400
"""

from schemas.functions.errors import FunctionError


class AdminForbidden(FunctionError):
    """The caller does not have the service role."""

    status = 401
    code = "UNAUTHORIZED_SERVICE_ROLE"
    message = "Administering functions needs the service key"


class EndpointNotFound(FunctionError):
    """The endpoint does not exist, or not with this method."""

    status = 404
    code = "NOT_FOUND"
    message = "There is nothing at this path"


class BadAdminRequest(FunctionError):
    """The body is not what the endpoint expects."""

    status = 400
    code = "BAD_REQUEST"
    message = "The body cannot be read"


class VersionNotFound(FunctionError):
    """The function was not deployed, or not in this version."""

    status = 404
    code = "NOT_FOUND"
    message = "There is no such deployed function or version"


class DeployRejected(FunctionError):
    """The bundle is not acceptable, or its modules cannot be fetched."""

    status = 422
    code = "DEPLOY_REFUSED"


class DeployConflict(FunctionError):
    """The files are of another version than the one that runs."""

    status = 409
    code = "newer_version"


class SecretRejected(FunctionError):
    """A secret is not acceptable."""

    status = 422
    code = "SECRET_REFUSED"


class StoreUnavailable(FunctionError):
    """The blob store cannot be reached."""

    status = 503
    code = "STORE_UNAVAILABLE"
    message = "The blob store cannot be reached"
