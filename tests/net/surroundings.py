# SPDX-License-Identifier: MIT
"""What every process of a test run begins with. It is made here, in one place, and not inherited: the same under nohup,
from a script's background, without a terminal, as root and not."""
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path

#: Whoever starts the tests may ignore these (nohup, a shell's `&`), which programs would inherit. Python itself keeps
#: two otherwise in its own process: see `settle`.
DISPOSITIONS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGPIPE", "SIGTERM", "SIGTTIN", "SIGTTOU", "SIGTSTP", "SIGCHLD", "SIGALRM",
                "SIGPROF", "SIGUSR1", "SIGUSR2")
#: Soft limits, as far as the hard ones allow.
LIMITS = {"RLIMIT_NOFILE": 20_000, "RLIMIT_STACK": 8 << 20, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": resource.RLIM_INFINITY,
          "RLIMIT_AS": resource.RLIM_INFINITY, "RLIMIT_CPU": resource.RLIM_INFINITY}

WINE = Path(__file__).resolve().parents[1] / "wine"

#: What of the environment goes on: where programs and packages are to be found, and what tests are told by it.
KEPT = re.compile(r"PATH|HOME|TMPDIR|USER|LOGNAME|CI|CHROMIUM|DNPROF(_APPS|_TEST_\w+|_WINDOWS\w*)?|WALKER_SEEDS|SANITIZER_PRELOAD|"
                  r"[AT]SAN_OPTIONS|UBSAN_OPTIONS|WINE\w+|NUGET_\w+|NPM_\w+|npm_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|"
                  r"\w+_CA_BUNDLE|(?i:https?_proxy|no_proxy)|PYTEST_\w+|DEBIAN_FRONTEND")
MADE = {
    "LANG": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
    # No greetings, no servers that stay, no certificates in somebody's home.
    "DOTNET_NOLOGO": "1", "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
    "DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE": "true", "DOTNET_CLI_USE_MSBUILD_SERVER": "0", "MSBUILDDISABLENODEREUSE": "1",
    "UseSharedCompilation": "false",
}
#: What is for the .NET command line only: the programs under test are not given it.
COMMAND_LINE = re.compile("DOTNET_|COMPlus_|MSBUILD|UseShared")


def environment():
    """For builds, and for whole suites."""
    return {**{name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}, **MADE}


def of_programs():
    """For what tests start: no word to a runtime or to a profiler; whoever calls the .NET command line adds `MADE`."""
    return {name: value for name, value in os.environ.items()
            if not COMMAND_LINE.match(name) and not re.match("DNPROF|CORECLR_|COR_|LD_|PYTEST", name)}


def default_signals():
    """In this process and what it starts; also what Python ignores for itself, so call it in a child only."""
    for name in DISPOSITIONS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def put_wine_first():
    """Where there is one, ours (tests/wine), which starts it so that it always starts."""
    if shutil.which("wine") and not os.environ["PATH"].startswith(f"{WINE}:"):
        os.environ["PATH"] = f"{WINE}:{os.environ['PATH']}"


def settle():
    """Makes this process one that its children may inherit everything from. Python ignores SIGPIPE (and gives children the
    default again), and answers SIGINT by an exception."""
    default_signals()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    for name, soft in LIMITS.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        both = (soft, hard) if hard == resource.RLIM_INFINITY or (soft != resource.RLIM_INFINITY and soft <= hard) else (hard, hard)
        resource.setrlimit(kind, both)
    made = environment()
    os.environ.clear()
    os.environ.update(made)
    put_wine_first()
    for fd in range(3):  # where one is closed the next file that is opened would take its place
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)


class Place:
    """A folder of its own for temporary files and for a home, with a short name (addresses of sockets have room for 107
    bytes); packages that are there already are not fetched again."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="d", dir="/tmp"))
        self.path.chmod(0o1777)  # programs of other users run here, too
        (self.path / "home").mkdir()
        home = Path(os.environ.get("HOME", "/nonexistent"))
        return {"TMPDIR": str(self.path), "HOME": str(self.path / "home"),
                "NUGET_PACKAGES": os.environ.get("NUGET_PACKAGES", str(home / ".nuget/packages"))}

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


if __name__ == "__main__":
    settle()
    os.execvp(sys.argv[1], sys.argv[1:])
