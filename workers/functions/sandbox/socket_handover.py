"""Hand a listening unix socket over to a function's process, in answer to its own socket(2) call (seccomp user notification).

    worker                                   process, under the filter (system_call_filter.py)
    socket, bind, listen  -- fork, exec -->
    notification          <--------------    socket(AF_UNIX): the call waits
    copy of the socket    -------------->    the call returns it; bind and listen report success
    notification          <--------------    open that creates a file, mkdir: the call waits
    continue              -------------->    Landlock decides: compiled sources in the function's own cache, nothing else
    once it listens: the descriptor is closed, and from then on these calls fail with ENOSYS

The reason: the process then needs no right to create files or sockets, cannot connect to the sockets of other functions, and
only the worker can enter the folder of the sockets. However often the process calls socket(), it gets a copy of the same
listening socket. Files that it creates are counted: up to `_MAX_CALLS` calls before it listens, none after. The answer
"continue" has a known race: another thread may change the arguments of the call after we have read them. It is harmless here,
because "continue" grants nothing that Landlock does not allow; the change affects only which file is denied.

    struct seccomp_notif        { u64 id; u32 pid; u32 flags; struct seccomp_data data; }    80 bytes
    struct seccomp_notif_addfd  { u64 id; u32 flags; u32 srcfd; u32 newfd; u32 newfd_flags; }  24 bytes
    struct seccomp_notif_resp   { u64 id; s64 val; s32 error; u32 flags; }                   24 bytes

Source: seccomp_unotify(2), ioctl numbers of linux/seccomp.h; Linux 5.14 and later, for adding the descriptor and answering in one step.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import select
import socket
import struct
from pathlib import Path

from workers.functions.sandbox import system_calls
from workers.functions.sandbox.system_call_filter import UNNAMED

_RECEIVE, _SEND, _ADD = 0xC0502100, 0xC0182101, 0x40182103
_NOTIFICATION_BYTES = 80
_SEND_AT_ONCE = 1 << 1
_CONTINUE = 1 << 0
_MAX_CALLS = 256
"""Calls that are answered before the process listens: one file for each module that it compiles, and unix sockets that the
resolver of the C library tries to open."""
_SOCKET = system_calls.SOCKET
_FLAGS = {system_calls.OPEN[0]: 1, system_calls.OPENAT[0]: 2, system_calls.OPENAT[1]: 2}
"""Index of the argument that holds the open flags, by system call."""
_BACKLOG = 1024
_OWNER_ALONE = 0o600


class SocketHandover:
    """A listening socket at a path, and the seccomp notifications through which one process gets it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ours, self._theirs = socket.socketpair()
        self._gate: int | None = None
        self._left = _MAX_CALLS
        try:
            self._socket.setblocking(False)
            self._socket.bind(str(path))
            path.chmod(_OWNER_ALONE)
            self._socket.listen(_BACKLOG)
        except BaseException:
            self.close()
            raise

    def hand_over(self, gate: int) -> None:
        """Send the notification descriptor to the worker; runs in the child after the fork."""
        socket.send_fds(self._theirs, [b"!"], [gate])
        os.close(gate)

    def attach(self) -> None:
        """Answer the calls of the process from now on. Raises: OSError if it did not send its descriptor."""
        self._theirs.close()
        self._ours.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        self._ours.close()
        if not descriptors:
            raise OSError(errno.EPIPE, "the process did not send its notification descriptor")
        self._gate = descriptors[0]
        asyncio.get_running_loop().add_reader(self._gate, self._answer)

    def stop(self) -> None:
        """Stop answering: the process listens and needs no other socket."""
        if self._gate is not None:
            asyncio.get_running_loop().remove_reader(self._gate)
            os.close(self._gate)
            self._gate = None

    def close(self) -> None:
        """Close and remove the socket."""
        self.stop()
        for endpoint in (self._socket, self._ours, self._theirs):
            endpoint.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _answer(self) -> None:
        """Answer one call. Polls first, because the ioctl that receives a notification blocks if there is none."""
        assert self._gate is not None
        poll = select.poll()
        poll.register(self._gate, select.POLLIN)
        is_pending = any(event & select.POLLIN for _, event in poll.poll(0))
        self._left -= 1
        if not is_pending or self._left < 0:  # the process has exited, or makes too many calls
            self.stop()
            return
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._gate, _RECEIVE, notification)
        except OSError:  # the calling thread has exited
            return
        (identity,) = struct.unpack_from("=Q", notification)
        number, _, _, *arguments = struct.unpack_from("=iIQ6Q", notification, 16)
        with contextlib.suppress(OSError):  # the calling thread has exited
            if number in _SOCKET:
                answer = struct.pack(
                    "=QIIII", identity, _SEND_AT_ONCE, self._socket.fileno(), 0, os.O_CLOEXEC
                )
                fcntl.ioctl(self._gate, _ADD, answer)
                return
            flags = arguments[_FLAGS[number]] if number in _FLAGS else 0
            error, flag = (-errno.EACCES, 0) if flags & UNNAMED else (0, _CONTINUE)
            fcntl.ioctl(self._gate, _SEND, bytearray(struct.pack("=QqiI", identity, 0, error, flag)))
