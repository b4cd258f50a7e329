"""Variables that a function is not given, because something below its sandbox obeys them.

The permissions of a function are those of its runtime's command line, and they bind its JavaScript alone. The loader, the C
library and the native parts of the runtime read the environment before that, or beside it:

    LD_PRELOAD=/.../own.so            native code of the function's own folder, which no permission binds
    OTEL_DENO=true                    an exporter that connects to OTEL_EXPORTER_OTLP_ENDPOINT, whatever `--deny-net` says
    DENO_PERMISSION_BROKER_PATH       another program answers for the permissions
    ALL_PROXY=socks5://name:port      connects to what the name stands for: only proxies of HTTP are compared with `--deny-net`

Names of the C library are those that it drops itself for programs with more rights than their caller (unsecvars.h of glibc).
"""

import re

RESERVED = "SUPABASE_"
"""Beginning of the names of the platform's own variables."""
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""Names by which the runtime finds a proxy."""
_OBEYED = re.compile(
    r"LD_.*|GLIBC_.*|MALLOC_.*|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_.*"
    r"|RES_OPTIONS|TZDIR|DENO_.*|OTEL_DENO.*|NODE_OPTIONS|NODE_CHANNEL_FD|NODE_UNIQUE_ID|NODE_V8_COVERAGE",
    re.DOTALL,
)
_HARMLESS = frozenset({"DENO_ENV", "DENO_REGION"})
"""Names that frameworks read and the runtime does not."""


def variable_fault(name: str, value: str) -> str | None:
    """Return why a variable is not given to functions; None if it is (pure)."""
    if name.startswith(RESERVED):
        return f"names must not begin with {RESERVED}"
    if _OBEYED.fullmatch(name) and name not in _HARMLESS:
        return "the runtime or the C library would obey it"
    if name in PROXIES and value.strip().lower().startswith("socks"):
        return "proxies of functions are proxies of HTTP"
    return None
