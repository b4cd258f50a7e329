"""The socket on which a function's process answers: created here, and handed to the process when it asks for a socket.

    worker                                   process, under the filter (filter.py)
    socket, bind, listen  -- fork, exec -->
    notification          <--------------    socket(AF_UNIX): the call waits
    copy of the socket    -------------->    the call returns it; bind and listen report success
    notification          <--------------    open that creates a file, mkdir: the call waits
    go on                 -------------->    Landlock decides: compiled sources in the function's own cache, nothing else
    once it listens: the descriptor is closed, and from then on these calls fail with ENOSYS

So the process needs no right to create files, cannot reach the sockets of others, and nobody but the worker needs to enter
the folder in which sockets lie. A copy is all that it is ever given, however often it asks. And the files that it may
create are counted: so many while it starts, none later. An answer "go on" is safe, because it grants nothing that Landlock
does not: what another thread changes in the arguments meanwhile changes only which file is refused.

    struct seccomp_notif        { u64 id; u32 pid; u32 flags; struct seccomp_data data; }    80 bytes
    struct seccomp_notif_addfd  { u64 id; u32 flags; u32 srcfd; u32 newfd; u32 newfd_flags; }  24 bytes
    struct seccomp_notif_resp   { u64 id; s64 val; s32 error; u32 flags; }                   24 bytes

Source: seccomp_unotify(2), ioctl numbers of linux/seccomp.h; Linux 5.14 and later for an answer in one step.
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

from workers.functions import system_calls
from workers.functions.filter import UNNAMED

_RECEIVE, _SEND, _ADD = 0xC0502100, 0xC0182101, 0x40182103
_NOTIFICATION_BYTES = 80
_SEND_AT_ONCE = 1 << 1
_GO_ON = 1 << 0
_MOST_ASKED = 256
"""Calls of a process that are answered before it listens: a file for each module that it compiles, and what the resolver
of the C library asks for in vain."""
_SOCKET = system_calls.SOCKET
_FLAGS = {system_calls.OPEN[0]: 1, system_calls.OPENAT[0]: 2, system_calls.OPENAT[1]: 2}
"""Which argument of a call holds the flags of an open."""
_BACKLOG = 1024
_OWNER_ALONE = 0o600


class Listener:
    """A listening socket at a path, and the gate through which one process gets it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ours, self._theirs = socket.socketpair()
        self._gate: int | None = None
        self._left = _MOST_ASKED
        try:
            self._socket.setblocking(False)
            self._socket.bind(str(path))
            path.chmod(_OWNER_ALONE)
            self._socket.listen(_BACKLOG)
        except BaseException:
            self.close()
            raise

    def hand_over(self, gate: int) -> None:
        """Send the filter's descriptor to the worker; runs in the child, behind the fork."""
        socket.send_fds(self._theirs, [b"!"], [gate])
        os.close(gate)

    def attach(self) -> None:
        """Answer the process from now on. Raises: OSError if its descriptor did not come."""
        self._theirs.close()
        self._ours.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        self._ours.close()
        if not descriptors:
            raise OSError(errno.EPIPE, "the process did not hand over its filter")
        self._gate = descriptors[0]
        asyncio.get_running_loop().add_reader(self._gate, self._answer)

    def shut(self) -> None:
        """Answer no more: the process listens, and has no use for another socket."""
        if self._gate is not None:
            asyncio.get_running_loop().remove_reader(self._gate)
            os.close(self._gate)
            self._gate = None

    def close(self) -> None:
        """Remove the socket."""
        self.shut()
        for each in (self._socket, self._ours, self._theirs):
            each.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _answer(self) -> None:
        """Answer one call. The descriptor is asked first what is there: receiving blocks where nothing is."""
        assert self._gate is not None
        poll = select.poll()
        poll.register(self._gate, select.POLLIN)
        is_there = any(event & select.POLLIN for _, event in poll.poll(0))
        self._left -= 1
        if not is_there or self._left < 0:  # the process has ended, or asks without an end
            self.shut()
            return
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._gate, _RECEIVE, notification)
        except OSError:  # the thread that asked is gone
            return
        (identity,) = struct.unpack_from("=Q", notification)
        number, _, _, *arguments = struct.unpack_from("=iIQ6Q", notification, 16)
        with contextlib.suppress(OSError):  # the thread that asked is gone
            if number in _SOCKET:
                given = struct.pack("=QIIII", identity, _SEND_AT_ONCE, self._socket.fileno(), 0, os.O_CLOEXEC)
                fcntl.ioctl(self._gate, _ADD, given)
                return
            flags = arguments[_FLAGS[number]] if number in _FLAGS else 0
            error, go_on = (-errno.EACCES, 0) if flags & UNNAMED else (0, _GO_ON)
            fcntl.ioctl(self._gate, _SEND, bytearray(struct.pack("=QqiI", identity, 0, error, go_on)))
