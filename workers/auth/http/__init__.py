"""The HTTP side of auth: routes, one module an endpoint, one module a grant of `/token`."""
