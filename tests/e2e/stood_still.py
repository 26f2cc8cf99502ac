# SPDX-License-Identifier: MIT
"""Keeps one thread of a process from its work, as a machine does whose processors others have taken."""
import contextlib
import ctypes
import os

import pytest

#: <sys/ptrace.h>, <sys/wait.h>
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


def trace(request, tid):
    if libc.ptrace(request, tid, None, None):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


@contextlib.contextmanager
def stands_still(tid):
    """That thread alone; of a child, where processes may not trace others."""
    try:
        trace(SEIZE, tid)
    except PermissionError:
        pytest.skip("processes may not be traced here")
    try:
        trace(INTERRUPT, tid)
        os.waitpid(tid, WALL)
        yield
    finally:
        trace(DETACH, tid)
