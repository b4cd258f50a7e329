"""The functions pool: hosts functions in Deno processes, reached over unix sockets.

    pool            start-up and shutdown of the worker process
    worker          handles requests; tokens checks them
    deployments/    deployed functions: admin endpoints, bundles, secrets, unpacking
    processes/      Deno processes: start, requests, limits, stop
    imports/        what functions import: found, rewritten, fetched
    host/           folders, files and network of the machine as functions may use them
    logs/           log lines: published and read back
    catalog/        which functions exist now
    sandbox/        Landlock, seccomp, cgroup v2, users

Each package imports only those below it (an import-linter contract). `placeholder` waits until the first function exists, and
`offline_secrets` is the command line's access to secrets without a worker.
"""
