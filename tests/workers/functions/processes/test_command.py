from dataclasses import replace
from pathlib import Path

from schemas.settings.functions import EdgeRuntime, FunctionSettings
from schemas.settings.tree import Settings
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.denied_hosts import METADATA
from workers.functions.imports.prepare import PreparedImports
from workers.functions.processes.command import ProcessPaths, build_command
from workers.functions.processes.environment import platform_variables, variables_of

ROOT = Path("/p/supabase/functions")
PLACE = ProcessPaths(Path("/bin/deno"), Path("/c"), Path("/h/preload.ts"), Path("/r/1.sock"))


def function(**settings: object) -> HostedFunction:
    own = FunctionSettings(**settings)  # type: ignore[arg-type]  # any of its keys
    return HostedFunction(
        "a", "v1", ROOT / "a/index.ts", None, ROOT / "a", own, {"MINE": "1", "SUPABASE_URL": "x"}, ROOT
    )


def argv(one: HostedFunction, prepared: PreparedImports | None = None) -> tuple[str, ...]:
    made = build_command(
        one, prepared or PreparedImports(), PLACE, {}, memory_mb=128, denied=["127.0.0.1:4222", *METADATA]
    )
    return made.argv


def test_a_process_gets_only_the_permissions_it_needs() -> None:
    words = argv(function())

    assert words[:2] == ("/bin/deno", "run")
    assert words[-1] == str(ROOT / "a/index.ts")
    assert "--no-prompt" in words
    assert "--v8-flags=--max-old-space-size=128" in words
    assert f"--allow-read={ROOT / 'a'},/r/1.sock" in words
    assert "--allow-write=/r/1.sock" in words
    denied = next(word for word in words if word.startswith("--deny-net="))
    assert "127.0.0.1:4222" in denied
    assert "169.254.0.0/16" in denied
    assert not any(word.startswith(("--allow-all", "-A", "--allow-run", "--allow-ffi")) for word in words)


def test_a_function_may_be_limited_to_some_hosts_or_none() -> None:
    some = argv(function(allow_net=["api.example.com", "10.0.0.1:443"]))

    assert "--allow-net=api.example.com,10.0.0.1:443" in some
    assert not any(word.startswith("--allow-net") for word in argv(function(allow_net=[])))


def test_prepared_imports_contact_no_registry() -> None:
    words = argv(function(), PreparedImports(Path("/m/map.json"), (), is_cached=True))

    assert "--import-map=/m/map.json" in words
    assert "--cached-only" in words


def test_a_function_cannot_set_a_proxy_itself() -> None:
    def ignored(variables: dict[str, str]) -> str:
        made = build_command(function(), PreparedImports(), PLACE, variables, memory_mb=128, denied=[])
        return next(word for word in made.argv if word.startswith("--ignore-env="))

    assert ignored({}) == "--ignore-env=HTTP_PROXY,http_proxy,HTTPS_PROXY,https_proxy,ALL_PROXY,all_proxy"
    assert "HTTPS_PROXY" not in ignored({"HTTPS_PROXY": "http://p"})


def test_variables_that_native_code_obeys_are_left_out() -> None:
    names = [
        "LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "GCONV_PATH", "HOSTALIASES", "DENO_PERMISSION_BROKER_PATH",
        "DENO_V8_FLAGS", "DENO_CERT", "OTEL_DENO", "OTEL_DENO_CONSOLE", "NODE_OPTIONS",
    ]  # fmt: skip
    kept = {
        "DENO_ENV": "x",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "x",
        "HTTP_PROXY": "http://p",
        "TZ": "UTC",
        "MINE": "1",
    }
    mine = replace(
        function(), env={**dict.fromkeys(names, "x"), **kept, "ALL_PROXY": " Socks5://localhost:1"}
    )

    seen = variables_of(mine, platform_variables(Settings(), [], {"LD_LIBRARY_PATH": "/nix/lib"}), "id-1")

    assert kept.items() <= seen.items()
    assert not {*names, "ALL_PROXY"} & set(seen)
    assert seen["LD_LIBRARY_PATH"] == "/nix/lib"


def test_the_platforms_variables_win_and_the_workers_are_not_passed_on() -> None:
    told = platform_variables(
        Settings(edge_runtime=EdgeRuntime(region="here")), [], {"HOME": "/root", "HTTPS_PROXY": "http://p"}
    )
    seen = variables_of(function(), told, "id-1")

    assert seen["MINE"] == "1"
    assert seen["SUPABASE_URL"] == "http://127.0.0.1:54321"
    assert seen["SUPABASE_DB_URL"] == "postgresql://postgres:postgres@127.0.0.1:54322/postgres"
    assert seen["SUPABASE_JWKS"] == '{"keys":[]}'
    assert seen["SUPABASE_PUBLISHABLE_KEYS"].startswith('{"default":"sb_publishable_')
    assert (seen["SB_REGION"], seen["SB_EXECUTION_ID"], seen["DENO_DEPLOYMENT_ID"]) == (
        "here",
        "id-1",
        "a_v1",
    )
    assert seen["HTTPS_PROXY"] == "http://p"
    assert "HOME" not in seen
    assert "eyJ" not in repr(told)
