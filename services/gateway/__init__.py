"""The gateway edge: HTTP in, messages out.

    connections/   listeners, TLS and limits of connections            -> edge
    direct/        requests that are answered without a task           -> edge, objects
    edge.py        one request: identify, limit, authenticate, handle (handlers.py, functions.py), respond
    objects/       uploads and downloads: plain, S3 and resumable
    requests/      what a request of any area is, where it goes, how it is passed on and answered

Each imports only those below it.
"""
