"""The kernel's sandbox, tried by a runtime that has all of Deno's permissions, as if a function had escaped from them."""

import asyncio
import json
import os
import platform
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from schemas.settings.functions import FunctionSettings
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.file_access import grant_read
from workers.functions.host.file_rules import rules_for_running
from workers.functions.host.host import FunctionHost, make_function_folders, open_host
from workers.functions.sandbox.confinement import Confinement, ResourceLimits
from workers.functions.sandbox.landlock import LandlockRules
from workers.functions.sandbox.socket_handover import SocketHandover
from workers.functions.sandbox.system_call_filter import UnixSockets
from workers.functions.sandbox.system_calls import ARCHITECTURES, OF_ONE_PROCESS, REFUSED

NATIVE = """
const { numbers, paths, address, parent } = JSON.parse(Deno.args[0]);
const libc = Deno.dlopen("libc.so.6", { syscall: { parameters: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], result: "i64" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" } }).symbols;
const call = (number: number, ...rest: number[]) => Number(libc.syscall(BigInt(number), ...([...rest, 0, 0, 0, 0, 0, 0].slice(0, 6).map(BigInt) as any)));
const got: Record<string, unknown> = {};
for (const [name, number] of Object.entries(numbers.refused)) if (number !== null) got[name] = call(number as number);
for (const [name, number] of Object.entries(numbers.processes)) if (number !== null) got[name] = call(number as number, parent);
got["clone"] = call(numbers.clone, 17);
for (const [family, kind, protocol] of [[16, 3, 0], [17, 3, 0], [2, 3, 1], [10, 3, 58], [2, 2, 1], [2, 1, 262], [40, 1, 0]]) got[`socket ${family} ${kind} ${protocol}`] = call(numbers.socket, family, kind, protocol);
const plain = call(numbers.socket, 2, 1, 0);
got["internet"] = plain >= 0 ? "made" : "refused";
const unix = call(numbers.socket, 1, 1, 0);
got["connect unix"] = libc.connect(unix, new Uint8Array(address), address.length);
const tried = (name: string, make: () => unknown) => { try { got[name] = make() === undefined ? "done" : "done" } catch (e) { got[name] = (e as any).code ?? (e as any).name } };
for (const path of paths) { tried(`read ${path}`, () => Deno.readFileSync(path)); tried(`list ${path}`, () => [...Deno.readDirSync(path)]); }
for (const path of ["/tmp/headwater-confined", "/dev/shm/headwater-confined", "./x"]) tried(`write ${path}`, () => Deno.writeFileSync(path, new Uint8Array(9)));
for (const program of ["/bin/sh", Deno.execPath()]) tried(`start ${program}`, () => new Deno.Command(program, { args: ["--version"] }).outputSync());
tried("signal", () => Deno.kill(parent, "SIGCONT"));
for (let n = 0; n < 9; n++) tried(`compiled ${n}`, () => { const dir = Deno.env.get("DENO_DIR") + "/d" + n; Deno.mkdirSync(dir); Deno.writeFileSync(dir + "/x", new Uint8Array(9)) });
tried("unnamed", () => { if (call(numbers.openat, -100, Number(Deno.UnsafePointer.value(Deno.UnsafePointer.of(new TextEncoder().encode(Deno.env.get("DENO_DIR") + "/gen\0")))), 0o20200002, 0o600) < 0) throw new Deno.errors.PermissionDenied() });
tried("own file", () => Deno.readTextFileSync("./index.ts"));
console.log(JSON.stringify(got));
"""


@pytest.fixture
def places(tmp_path: Path) -> FunctionHost:
    made = open_host(tmp_path / "data")
    if not made.features.landlock or not made.features.is_gated:
        pytest.skip("this kernel has neither Landlock nor a filter with answers")
    return made


@pytest.fixture
def function(places: FunctionHost) -> HostedFunction:
    """A function with the script above, where its user can read it."""
    root = places.home / "source" / "v" / "functions"
    (root / "a").mkdir(parents=True)
    (root / "a" / "index.ts").write_text(NATIVE)
    make_function_folders(places, "a")
    grant_read(root.parent, places.users.user_of("a"))
    return HostedFunction("a", "v", root / "a/index.ts", None, root / "a", FunctionSettings(), {}, root)


async def run(
    places: FunctionHost,
    function: HostedFunction,
    *,
    as_root: bool,
    arguments: object,
    may_create: bool = True,
) -> dict[str, Any]:
    """Run the function's script with all permissions of the runtime, behind the walls of a function."""
    user = None if as_root else places.users.user_of("a")
    listener = SocketHandover(places.run / "a.sock")
    rules = rules_for_running(places, function, None, {}, None, compiles=may_create)
    try:
        with Confinement(
            places.features,
            user,
            ResourceLimits(256, 4096),
            rules,
            handover=listener,
            unix=UnixSockets.GATED,
            creates=may_create,
        ) as walls:
            running = await asyncio.create_subprocess_exec(
                str(places.deno), "run", "-A", "--quiet", "--no-lock", "--no-config", "--cached-only", "--no-code-cache",
                str(function.entrypoint), json.dumps(arguments), cwd=function.folder, preexec_fn=walls.enter,
                env={"DENO_DIR": str(places.cache("a")), "NO_COLOR": "1"},
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        listener.attach()
        out, err = await asyncio.wait_for(running.communicate(), 60)
        assert running.returncode == 0, err.decode()
        read: dict[str, Any] = json.loads(out)
        return read
    finally:
        listener.close()


@pytest.mark.parametrize("may_create", [True, False], ids=["the first", "a later one"])
@pytest.mark.parametrize("as_root", [False, True], ids=["as its user", "as the platform's user"])
async def test_native_code_in_the_sandbox_reaches_nothing(
    places: FunctionHost, function: HostedFunction, tmp_path: Path, as_root: bool, may_create: bool
) -> None:
    column = ARCHITECTURES[platform.machine()][0]
    numbers = {
        "refused": {name: each[column] for name, each in REFUSED.items() if name not in ("vfork", "fork")},
        "processes": {name: each[column] for name, each in OF_ONE_PROCESS.items()},
        "clone": (56, 220)[column],
        "socket": (41, 198)[column], "openat": (257, 56)[column],
    }  # fmt: skip
    secret = tmp_path / "data" / "passwords.json"
    secret.write_text("secret")
    paths = [
        secret,
        places.home,
        places.home / "users.json",
        "/etc/passwd",
        "/proc/1/environ",
        f"/proc/{os.getpid()}/environ",
    ]
    tmp_path.chmod(0o711)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "o.sock"))
        (tmp_path / "o.sock").chmod(0o777)
        other.listen()
        address = list((1).to_bytes(2, "little") + bytes(tmp_path / "o.sock") + b"\0")

        got = await run(
            places,
            function,
            as_root=as_root,
            may_create=may_create,
            arguments={
                "numbers": numbers,
                "paths": [str(path) for path in paths],
                "address": address,
                "parent": os.getpid(),
            },
        )

    assert got.pop("internet") == "made"
    assert got.pop("own file") == "done"
    assert {got.pop(f"compiled {number}") for number in range(9)} == {"done" if may_create else "EACCES"}
    assert {
        name: each
        for name, each in got.items()
        if each not in (-1, "EACCES", "EPERM", "PermissionDenied", "NotCapable", "ENOTDIR")
    } == {}


def test_no_sending_call_connects_past_the_rules_of_ports(places: FunctionHost) -> None:
    flag = 0x20000000  # MSG_FASTOPEN: the call connects by itself
    ways: list[Callable[[socket.socket, tuple[str, int]], object]] = [
        lambda one, place: one.connect(place),
        lambda one, place: one.sendto(b"x", flag, place),
        lambda one, place: one.sendmsg([b"x"], [], flag, place),
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        rules = LandlockRules((), frozenset({1}))
        with Confinement(
            places.features, None, ResourceLimits(4096), rules, unix=UnixSockets.CLOSED
        ) as walls:
            child = os.fork()
            if child == 0:
                reached = 0
                try:
                    walls.enter()
                    for way in ways:
                        with suppress(PermissionError), socket.socket() as one:
                            way(one, server.getsockname())
                            reached += 1
                finally:
                    os._exit(reached)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert status == 0
