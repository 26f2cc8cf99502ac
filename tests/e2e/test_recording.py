# SPDX-License-Identifier: MIT
"""A recording is readable at every byte: whatever ends early, all whole chunks open and the report says
what is missing."""
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import types
from pathlib import Path

import pytest

from harness import (DNPROF, LOOSE, NEWEST, SOAK, Report, agent_in, as_nobody_else, cpu_seconds, dnprof, let_others_in,
                     needs_other_user, program, record, report, run, start, thread_names, wait_for, wait_for_samples, warm_up)

HEADER = struct.Struct("<IHHQIIQ")  # magic, kind, version, recording, sequence, length, checksum
MAGIC = 0x31504E44


def chunks(data):
    """(offset, end) of the chunks of a recording."""
    offset = 0
    while offset + HEADER.size <= len(data):
        magic, *_, length, _ = HEADER.unpack_from(data, offset)
        assert magic == MAGIC
        yield offset, offset + HEADER.size + length
        offset += HEADER.size + length


def opened(path):
    """The report of a recording that may be incomplete, and whether dnprof said so."""
    result = dnprof("report", "--json", path)
    assert result.status in (0, 1, 3), result
    if result.status:
        assert len(result.complaints()) == 1, result
    if result.status == 1:
        assert "the recording has no events" in result.err
        return types.SimpleNamespace(samples=0), True
    return Report(json.loads(result.stdout)), result.status == 3


def test_names_that_threads_have_before_they_start(tmp_path, tfm):
    """Two hundred at once: each is named before the first of them starts."""
    _, shown = record(tmp_path, program(tfm, "idle", "--seconds", 0.1))
    assert {f"sleeper-{n}" for n in range(200)} <= shown.threads().keys()


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    _, whole = record(folder, program(NEWEST, "mix", "--seconds", 1.5))
    return (folder / "out.dnp").read_bytes(), whole


def test_what_the_agent_used(tmp_path, tfm):
    """CPU time of the process, of which its threads took some; and what its stacks took."""
    result, recorded = record(tmp_path, program(tfm, "mix", "--seconds", 0.5), options=["-e", "cpu,wall"])
    data = recorded.data
    assert 0 < data["agent_cpu_ns"] < data["cpu_ns"]
    # From the first moment on: of what the program said of itself little was before that.
    assert data["cpu_ns"] > 0.7 * result.truth["process_cpu_ns"]
    # What samples stand for is held against it, and what is missing is named.
    cpu = data["events"]["cpu"]
    assert cpu["clock_ns"] == data["cpu_ns"] - data["agent_cpu_ns"] and "clock_ns" not in data["events"]["wall"]
    assert "clock_ns" not in json.loads(dnprof("report", "--json", "--thread", "main", tmp_path / "out.dnp").stdout)["events"]["cpu"]
    text = dnprof("report", tmp_path / "out.dnp").expect().out
    assert re.search(r"^  stand for .* of the .* of CPU time that the kernel counted \(.*%\)(; .* not seen)?$", text, re.M), text
    assert re.search(r", CPU time \d.*s, of it dnprof's own \d+ m?s$", text, re.M), text
    assert re.search(r"^  stacks took \d.* to walk, \d.* each \(median; 99 % within .*\)$", text, re.M), text


def test_chunks(recording):
    data, _ = recording
    found = list(chunks(data))
    assert found and found[-1][1] == len(data), "nothing before, between or behind the chunks"


def test_cut_between_chunks(tmp_path, recording):
    """Each number of whole chunks opens, with never fewer samples than before."""
    data, whole = recording
    path, last = tmp_path / "cut.dnp", 0
    ends = [end for _, end in chunks(data)]
    for end in [*ends[len(ends) // 4::max(1, len(ends) // (12 if SOAK else 6))], ends[-1]]:
        path.write_bytes(data[:end])
        cut, said = opened(path)
        assert cut.samples >= last
        assert said or cut.samples == whole.samples
        last = cut.samples
    assert last == whole.samples


def test_cut_anywhere(tmp_path, recording):
    """A cut inside a chunk costs that chunk and no other."""
    data, _ = recording
    spots = [end for _, end in chunks(data)]
    path = tmp_path / "cut.dnp"
    dice = random.Random(1)
    for cut in sorted(dice.randrange(spots[len(spots) // 4], len(data)) for _ in range(12 if SOAK else 4)):
        path.write_bytes(data[:cut])
        inside, said = opened(path)
        assert said or cut in spots
        path.write_bytes(data[:max(s for s in spots if s <= cut)])
        assert inside.samples == opened(path)[0].samples


def test_every_short_length(tmp_path, recording):
    """The first bytes, one by one: an answer each time, never a crash."""
    data, _ = recording
    path = tmp_path / "cut.dnp"
    for cut in [*range(0, 40), *range(40, 600, 23)]:
        path.write_bytes(data[:cut])
        result = dnprof("report", path)
        assert result.status in (1, 3), result
        assert len(result.complaints()) == 1, result


def test_damaged(tmp_path, recording):
    """A flipped bit costs one chunk and no other, and is noticed."""
    data, _ = recording
    path = tmp_path / "damaged.dnp"
    dice = random.Random(2)
    found = list(chunks(data))
    for begin, end in dice.sample(found[1:], min(8, len(found) - 1)):
        path.write_bytes(data[:begin] + data[end:])
        without, _ = opened(path)
        for first, behind in ((begin, begin + HEADER.size), (begin + HEADER.size, end)):
            spoilt = bytearray(data)
            spoilt[dice.randrange(first, behind)] ^= 1 << dice.randrange(8)
            path.write_bytes(spoilt)
            damaged, said = opened(path)
            assert said and damaged.samples == without.samples


@pytest.mark.parametrize("event", ["cpu", "cpu,switch"])
def test_beginning_is_damaged(tmp_path, event):
    """Times count from the first one that is known, and not from when the machine was started."""
    out, path = tmp_path / "out.dnp", tmp_path / "damaged.dnp"
    dnprof("run", "-q", "-e", event, "-F", 997, "-o", out, "--", *program(NEWEST, "mix", "--seconds", 1.5)).expect()
    whole, data = report(out).data, bytearray(out.read_bytes())
    begin = next(b for b, _ in chunks(data) if HEADER.unpack_from(data, b)[1] != 1)  # behind the description of records
    data[begin + HEADER.size + 8] ^= 1
    path.write_bytes(data)
    result = dnprof("report", "--json", path).expect(3)
    it = json.loads(result.stdout)
    assert 0 < it["duration_ns"] <= whole["duration_ns"] + 1e9
    assert it["start_unix_ns"] == 0 and "recorded at an unknown time for" in dnprof("report", path).expect(3).out


def test_two_recordings_in_one_file(tmp_path, recording):
    """`cat a.dnp b.dnp` is a recording of both, and so is naming both."""
    data, whole = recording
    _, other = record(tmp_path, program(NEWEST, "cpu", "--seconds", 0.5), name="other.dnp")
    both = tmp_path / "both.dnp"
    both.write_bytes(data + (tmp_path / "other.dnp").read_bytes())
    assert report(both).samples == whole.samples + other.samples
    (tmp_path / "a.dnp").write_bytes(data)
    assert report(tmp_path / "a.dnp", tmp_path / "other.dnp").samples == whole.samples + other.samples


@pytest.mark.measured
def test_target_killed(tmp_path):
    """kill -9 of the program: nearly all of what was sampled is there."""
    out = tmp_path / "out.dnp"
    with start([DNPROF, "run", "-q", "-F", "997", "-o", out, "--",
                *program(NEWEST, "cpu", "--seconds", 600)]) as run_:
        pid = run_.child("cpu --seconds")
        wait_for_samples(pid, 2000)
        os.kill(pid, signal.SIGKILL)
        result = run_.end()
    assert result.status in (-signal.SIGKILL, 128 + signal.SIGKILL), result
    cut, said = opened(out)
    assert said, "the report tells that the end is missing"
    assert cut.samples > 300 // LOOSE and cut.total("Truth.Cpu.Run") > cut.samples * (1 - LOOSE * 0.2)


def test_dnprof_killed(tmp_path):
    """kill -9 of dnprof: the program goes on to its end, and what it wrote opens."""
    out = tmp_path / "out.dnp"
    with start([DNPROF, "run", "-q", "-F", "997", "-o", out, "--",
                *program(NEWEST, "cpu", "--seconds", 600, "--meter")], stdin=subprocess.PIPE) as run_:
        pid = run_.child("cpu --seconds")
        wait_for_samples(pid, 300)
        os.kill(run_.process.pid, signal.SIGKILL)
        run_.process.wait()
        assert os.path.exists(f"/proc/{pid}")
        run_.process.stdin.close()  # with --meter it ends then
        run_.process.stdin = None
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the program")
        result = run_.end()
    assert '"program":"cpu"' in result.out, "the program ended well"
    cut, _ = opened(out)
    assert cut.samples > 200


def limited(bytes_max, out):
    """dnprof under a limit of file sizes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))
    # The runtime itself needs a large memory file, unless told otherwise.
    return dnprof("run", "-q", "-F", 9997, "-o", out, "--", *program(NEWEST, "mix", "--seconds", 2), preexec_fn=limit,
                  env={"DOTNET_EnableWriteXorExecute": "0"})


def test_file_size_limit(tmp_path):
    """A recording that may not grow: the program is unharmed, dnprof says what is missing."""
    out = tmp_path / "out.dnp"
    result = limited(192 << 10, out)
    assert result.truth["program"] == "mix"
    assert result.status == 3 and "too large" in result.err, result
    cut, said = opened(out)
    assert said and cut.samples > 0


def test_no_file_may_be_written(tmp_path):
    result = limited(32 << 10, tmp_path / "out.dnp")
    assert result.status == 1 and not result.out, result
    assert ["too large" in line and "ulimit -f" in line for line in result.complaints()] == [True], result
    assert not list(tmp_path.iterdir())


def test_full_disk(small_disk):
    out = small_disk / "out.dnp"
    result = dnprof("run", "-q", "-F", 9997, "-o", out, "--", *program(NEWEST, "mix", "--seconds", 2))
    assert result.truth["program"] == "mix"
    assert result.status == 3, result
    assert "space" in result.err, result
    cut, said = opened(out)
    assert said and cut.samples > 0


def test_threads_after_its_end(tmp_path):
    """Threads that begin when nothing is recorded any more leave nothing: each second of CPU time some 5,000 do, and a record of
    each would take 50 MB. What the program has of itself grows at times, so one second of several is to show it."""
    def rss_mb():
        return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) // 1024

    argv = [DNPROF, "run", "-q", "-d", "0.1", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "shortthreads", "--seconds", 600)]
    with start(argv, env={"DOTNET_GCgen0size": "400000"}) as run_:
        pid = run_.child("truth")
        wait_for(lambda: (agent_in(pid) or {}).get("state") == "attached", "the end of its recording")
        grown = []
        while not grown or grown[-1] >= 25 and len(grown) < 8:
            before, begun = rss_mb(), cpu_seconds(pid)
            warm_up(pid, begun + 1)
            grown.append(rss_mb() - before)
    assert grown[-1] < 25, grown


def may_lock_without_end():
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 0


#: Leaves its user so much of the memory that perf events may lock as they need who have each a ring of two pages: it takes
#: that, then all that is left, and gives the first back.
LEAVES_ROOM = """
import ctypes, mmap, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
attr = struct.pack("IIQQQQQ24x", 1, 72, 9, 0, 0, 0, 1 | 1 << 5 | 1 << 6)  # a dummy of its own, off

def ring(pages):
    fd = libc.syscall(298, attr, 0, -1, -1, 8)
    assert fd >= 0, ctypes.get_errno()
    try:
        return mmap.mmap(fd, (1 + pages) * mmap.PAGESIZE)
    except OSError:
        return None

room, taken = [ring(2) for _ in range(int(sys.argv[1]))], []
for order in range(14, -1, -1):
    while one := ring(2 ** order):
        taken.append(one)
for one in filter(None, room):
    one.close()
print("ready", flush=True)
sys.stdin.read()
"""
ROOM = 40


@needs_other_user
@pytest.mark.skipif(may_lock_without_end(), reason="perf events may lock as much memory here as they like")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of the call is of x86-64")
def test_kernel_frames_that_cannot_be_had(tmp_path):
    """Where each thread has an event of its own its ring is locked memory: where an ordinary user has enough for some of
    them, the others have samples without, and that is said. One event for all threads needs a ring for each processor."""
    # The kernel counts a user's locked memory, whatever the process.
    ordinary = ["prlimit", "--memlock=0", *as_nobody_else("perfmon"), "--bounding-set=-ipc_lock"]
    let_others_in(tmp_path)
    out = tmp_path / "out.dnp"
    argv = program(NEWEST, "idle", "--seconds", 0.2)
    run([*ordinary, DNPROF, "run", "-q", "-o", out, "--", *argv]).expect()
    assert not [p for p in json.loads(dnprof("report", "--json", out).expect().stdout)["problems"] if "kernel" in p]
    with start([*ordinary, sys.executable, "-c", LEAVES_ROOM, ROOM], stdin=subprocess.PIPE) as neighbour:
        assert neighbour.process.stdout.readline() == b"ready\n", neighbour.end()
        run([*ordinary, DNPROF, "run", "-q", "--source", "perf", "-o", tmp_path / "each.dnp", "--", *argv]).expect()
    data = json.loads(dnprof("report", "--json", tmp_path / "each.dnp").expect().stdout)
    told = [problem for problem in data["problems"] if "without the kernel's frames" in problem]
    # 200 of them are there at once.
    assert len(told) == 1 and 200 - ROOM <= int(told[0].split()[0]) < len(data["threads"]), data["problems"]


@pytest.mark.measured
def test_bounded_memory(tmp_path):
    """The agent's memory on a program of 50 threads stays under 16 MiB."""
    def peak(argv):
        with start(argv) as run_:
            pid = run_.child("idle") if argv[0] == str(DNPROF) else run_.process.pid
            wait_for(lambda: len(thread_names(pid)) > 200, "200 threads")
            warm_up(pid, 1.5 if SOAK else 1)
            status = open(f"/proc/{pid}/status").read()
        return int(status.split("RssAnon:")[1].split()[0]) * 1024
    app = [str(a) for a in program(NEWEST, "idle", "--seconds", 600)]
    alone = peak(app)
    profiled = peak([str(DNPROF), "run", "-q", "-F", "997", "-o", str(tmp_path / "o.dnp"), "--", *app])
    # 200 threads here, so four times what the 50 threads of the promise may take.
    assert profiled - alone < LOOSE * 4 * (16 << 20)
