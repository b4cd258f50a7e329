"""Environment variables that functions do not get, because native code below Deno's permissions obeys them.

The permissions on the runtime's command line bind only JavaScript. The loader, the C library and the native parts of the runtime
read the environment before these permissions apply, or regardless of them:

    LD_PRELOAD=/.../own.so            loads native code from the function's folder, which no permission binds
    OTEL_DENO=true                    an exporter that connects to OTEL_EXPORTER_OTLP_ENDPOINT, whatever `--deny-net` says
    DENO_PERMISSION_BROKER_PATH       another program decides about the permissions
    ALL_PROXY=socks5://name:port      connects to what the name resolves to: only HTTP proxies are compared with `--deny-net`

The names of the C library are those that it drops itself for setuid programs (unsecvars.h of glibc).
"""

import re

RESERVED = "SUPABASE_"
"""Prefix of the platform's own variables."""
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""Variables from which the runtime reads a proxy."""
_OBEYED = re.compile(
    r"LD_.*|GLIBC_.*|MALLOC_.*|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_.*"
    r"|RES_OPTIONS|TZDIR|DENO_.*|OTEL_DENO.*|NODE_OPTIONS|NODE_CHANNEL_FD|NODE_UNIQUE_ID|NODE_V8_COVERAGE",
    re.DOTALL,
)
_HARMLESS = frozenset({"DENO_ENV", "DENO_REGION"})
"""Names that frameworks read but the runtime does not."""


def variable_fault(name: str, value: str) -> str | None:
    """Return why a variable is not passed to functions; None if it is passed (pure)."""
    if name.startswith(RESERVED):
        return f"names must not begin with {RESERVED}"
    if _OBEYED.fullmatch(name) and name not in _HARMLESS:
        return "the runtime or the C library would obey it"
    if name in PROXIES and value.strip().lower().startswith("socks"):
        return "proxies of functions are proxies of HTTP"
    return None
