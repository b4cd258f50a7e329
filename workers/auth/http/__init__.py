"""Endpoints of auth: routes, request bodies, grants, responses."""
