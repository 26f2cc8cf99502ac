# SPDX-License-Identifier: MIT
"""Requests of ASP.NET Core as spans, against what the server's own clients asked for and its handlers took."""
import json

import pytest

import attached
import records
from harness import LOOSE, NEWEST, SOAK, check_whole, dnprof, dnprof_again, program, record, refused, report, told, wait_for

ASKING = ("--requests", 20, "--slow")


def server(tfm, *args):
    return program(tfm, *args, app="server")


def shown_of(out):
    return report(out, options=("-e", "request", "-n", 0))


def check(truth, shown):
    """Each request, its path and result, and times that are not shorter than what the handlers measured."""
    event = shown.data["events"]["request"]
    check_whole(event)
    assert event["failed"] == 0 and event["note"] == ""
    asked = truth["requests"]
    sums = {s["name"]: s for s in shown.data["spans"]}
    assert {name: (s["count"], s["ended"]) for name, s in sums.items()} == {
        name: (known["count"], known["count"]) for name, known in asked.items()}
    for name, known in asked.items():
        span = sums[name]
        assert known["least_ns"] <= span["total_ns"]
        assert span["median_ns"] <= span["p99_ns"] <= span["longest_ns"] <= span["total_ns"]
    requests = shown.data["longest"]
    assert len(requests) == sum(known["count"] for known in asked.values())
    assert [r["ns"] for r in requests] == sorted((r["ns"] for r in requests), reverse=True)
    for request in requests:
        assert request["result"] == str(asked[request.get("group", request["name"])]["status"])
        assert request["ns"] <= shown.data["duration_ns"] - request["begin_ns"]
    results = {}
    for known in asked.values():
        results[str(known["status"])] = results.get(str(known["status"]), 0) + known["count"]
    assert {r["name"]: r["count"] for r in shown.data["results"]} == results


def check_paths(truth, shown):
    names = {r["name"] for r in shown.data["longest"]}
    count = truth["requests"]["GET /items/{number}"]["count"] // 4
    assert names >= {f"GET /items/{i}" for i in range(count)} | {f"GET /wait/größer 7/for/{30 + i}" for i in range(4)}
    assert not any("secret" in name for name in names)
    for request in shown.data["longest"]:
        if request["name"].startswith("GET /sleep/"):
            assert request["ns"] >= int(request["name"].rpartition("/")[2]) * 1_000_000
    traces = [r["trace"] for r in shown.data["longest"]]
    assert all(len(trace) == 32 for trace in traces) and len(set(traces)) == len(traces)


def test_from_the_start(tmp_path, tfm):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "request", "-o", out, "--", *server(tfm, *ASKING)).expect()
    shown = shown_of(out)
    check(result.truth, shown)
    check_paths(result.truth, shown)
    text = dnprof("report", out).expect().out
    assert "request: " in text and "results: 200 " in text
    assert "Requests" in text and "Longest, the first 20 of" in text


@pytest.mark.measured
def test_stacks_while_much_is_compiled(tmp_path, tfm):
    """Threads run what others have just compiled, before anybody could tell us: their stacks are whole all the same."""
    cpu = record(tmp_path, server(tfm, *ASKING), hz=1997)[1].data["events"]["cpu"]
    assert cpu["samples"] > 1000 // LOOSE and sum(cpu["failures"].values()) <= LOOSE * (cpu["samples"] * 0.001 + 2), cpu


@pytest.mark.parametrize("events", ("cpu,request", "request,exception,alloc=100k", "switch,request,mark,jit"))
def test_with_others(tmp_path, events):
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-o", out, "--", *server(NEWEST, *ASKING)).expect()
    check(result.truth, shown_of(out))


def test_attached(tmp_path, tfm):
    """In a server that runs already, a second time after the agent had left."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(server(tfm, *ASKING, "--when", when), 0.05) as it:
        before = tmp_path / "before.dnp"
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "cpu,request", "-d", 0.1, "-o", before, it.pid).expect()
        event = shown_of(before).data["events"]["request"]
        assert event["samples"] == 0 and event["note"].startswith("no request came")
        result = it.record_when_told("request", out, when, "the last request", detach=True)
    shown = shown_of(out)
    check(result.truth, shown)
    check_paths(result.truth, shown)


CYCLES = 10 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path):
    """Recordings that begin and end amid requests: nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", server(NEWEST, "--requests", 100000), limit=CYCLES, seconds=0.05,
                             options="event=cpu,request")
    assert len(cycles.times) == CYCLES


def test_no_server(tmp_path, tfm):
    """A program that serves nobody: nothing is told, and why."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "request", "-o", out, "--", *program(tfm, "deep", "--work", 1)).expect()
    shown = shown_of(out)
    assert shown.data["spans"] == shown.data["longest"] == shown.data["results"] == []
    text = dnprof("report", out).expect().out
    assert "request: 0 requests" in text and "no request came; only servers of ASP.NET Core tell" in text


def test_that_has_not_ended(tmp_path):
    """Of a server that hangs these are what one looks for: which they are, and since when."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(server(NEWEST, "--requests", 1, "--held", "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("attach", it.pid).expect()
        dnprof("start", "-e", "request", "-o", out, it.pid).expect()
        when.touch()
        wait_for((tmp_path / "when.done").exists, "the last request but those that are held")
        dnprof("stop", it.pid).expect()
        when.unlink()
        result = it.started.end().expect()
    shown, held = shown_of(out).data, "GET /held/{client}"
    assert {r["name"] for r in shown["open"]} == {f"GET /held/{client}" for client in range(4)}
    assert all(0 < r["ns"] == shown["duration_ns"] - r["begin_ns"] and len(r["trace"]) == 32 for r in shown["open"])
    counts = {name: known["count"] for name, known in result.truth["requests"].items() if name != held}
    assert len(shown["longest"]) == sum(counts.values())
    assert {s["name"]: s["count"] for s in shown["spans"] if s["ended"]} == counts
    text = dnprof("report", out).expect().out
    assert ", not ended 4" in text and "\nNot ended\n       after      so far            name\n" in text


def test_exports(tmp_path):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "switch,request", "-o", out, "--", *server(NEWEST, *ASKING)).expect()
    count = sum(known["count"] for known in result.truth["requests"].values())
    for name in ("t.trace.json", "t.csv", "t.pftrace", "t.html"):
        dnprof("export", "-o", tmp_path / name, out).expect()
    events = json.loads((tmp_path / "t.trace.json").read_text())["traceEvents"]
    begun = {e["id"]: e for e in events if e["ph"] == "b"}
    assert len(begun) == count == sum(e["ph"] == "e" for e in events)
    failed = [e for e in begun.values() if e["args"]["result"] == "500"]
    assert [e["name"] for e in failed] == ["GET /broken → 500"] * 4
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert sum(line.endswith(",span") for line in lines) == count
    assert sum('"GET /broken → 500"' in line for line in lines) == 4
    assert (tmp_path / "t.pftrace").read_bytes().count("GET /broken → 500".encode()) == 4


def test_no_stacks(tmp_path):
    refused(dnprof("run", "-e", "request", "-o", tmp_path / "x.collapsed", "true"), 2, "requests have none")
    refused(dnprof("run", "-e", "request=5", "-o", tmp_path / "x.dnp", "true"), 2, "request takes no value")


BURN = "Server.Work.Burn"


SECRETS = ("not 7", "größer 7", "/for/31", "/items/7", "/fail/7", "/none/", "sleep/20")


def everything_in(path):
    return b"".join(payload for _, payload in records.chunks(path.read_bytes()))


def test_nothing_to_be_left_out(tmp_path):
    refused(dnprof("run", "-e", "cpu", "--no-messages", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2,
            "--no-messages is about exceptions and requests", "add exception or request")


@pytest.mark.parametrize("how", ("run", "start"))
def test_nothing_of_what_was_said(tmp_path, how):
    """Neither messages nor paths are in the recording, but their types and routes, each as often."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    events = "exception,request,cpu"
    if how == "run":
        result = dnprof_again("run", "-q", "-e", events, "--no-messages", "-o", out, "--", *server(NEWEST, *ASKING)).expect()
    else:
        with attached.Running(server(NEWEST, *ASKING, "--when", when), 0.05) as it:
            it.wait_until_ready(when)
            dnprof("attach", it.pid).expect()
            dnprof("start", "-e", events, "--no-messages", "-o", out, it.pid).expect()
            when.touch()
            wait_for((tmp_path / "when.done").exists, "the last request")
            dnprof("stop", it.pid).expect()
            when.unlink()
            result = it.started.end().expect()
    content = everything_in(out)
    # What was run is in it, and its own names are.
    assert b"Server.Handlers" in content or b"Handlers" in content
    for secret in SECRETS:
        assert secret.encode() not in content, secret
    shown = shown_of(out)
    assert "--no-messages" in shown.data["events"]["request"]["note"]
    asked, sums = result.truth["requests"], {s["name"]: s["count"] for s in shown.data["spans"]}
    routed = {name: known["count"] for name, known in asked.items() if not name.startswith("GET /none/")}
    assert sums == {**routed, "GET /…": sum(known["count"] for known in asked.values()) - sum(routed.values())}
    assert {r.get("group", r["name"]) for r in shown.data["longest"]} == set(sums)
    thrown = report(out, options=("-e", "exception")).data
    bad = next(t for t in thrown["types"] if t["name"].endswith("BadHttpRequestException"))
    assert bad["count"] == asked["GET /fail/{number}"]["count"] and not bad.get("messages")
    assert "--no-messages" in thrown["events"]["exception"]["note"]
    # They are chosen by what is left of their names.
    chosen = of(out, "GET /items/*", "request").data["spans"]
    assert {s["name"]: s["count"] for s in chosen} == {"GET /items/{number}": asked["GET /items/{number}"]["count"]}


TENANTS = ("--requests", 1, "--tenants")


def test_what_is_taken_off_a_path(tmp_path, tfm):
    """A program may change a path before it looks where that leads: what it took off is nobody's route."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "request", "--no-messages", "-o", out, "--", *server(tfm, *TENANTS)).expect()
    sums = {s["name"]: s["count"] for s in shown_of(out).data["spans"]}
    others = ("GET /items/{number}", "POST /sum", "GET /fail/{number}")
    assert sums == {"GET /…/any/{x}": 4, "GET /err/{code}": 4, "GET /any/{x}": 4, "GET /…": 4,
                    **{name: result.truth["requests"][name]["count"] for name in others}}
    content = everything_in(out)
    assert b"customer" not in content and b"anna" not in content


def test_values_that_are_like_the_path(tmp_path):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "request", "-o", out, "--", *server(NEWEST, *TENANTS)).expect()
    assert {s["name"]: s["count"] for s in shown_of(out).data["spans"]} == {
        name: known["count"] for name, known in result.truth["requests"].items()}


def of(out, pattern, event="cpu"):
    return report(out, options=("-e", event, "--request", pattern))


def burnt_ns(shown):
    """CPU time in the method that books its own."""
    samples = sum(m["total"] for m in shown.data["methods"] if m["name"].startswith(BURN))
    return samples * shown.cpu["interval_ns"], samples


def check_costs(truth, out):
    """What is computed for each of two routes, in one go, and in parts on several threads that serve others meanwhile."""
    total = 0
    for route in ("cost", "hops"):
        shown = of(out, f"GET /{route}/*")
        ns, samples = burnt_ns(shown)
        known = truth["costs"][f"GET /{route}/{{ms}}"]
        assert ns == pytest.approx(known, rel=LOOSE * 5 / samples ** 0.5), route
        others = {name for s in shown.data["methods"] if (name := s["name"]).startswith("Server.Handlers.")}
        assert not any(name.startswith("Server.Handlers." + {"cost": "Hops", "hops": "Cost"}[route]) for name in others)
        assert f"shown: those that match GET /{route}/*" in " ".join(shown.data["problems"])
        total += samples
    # The rest is nobody's.
    assert burnt_ns(of(out, "GET *,POST *"))[1] == total
    ns, samples = burnt_ns(report(out, options=("-e", "cpu")))
    beside = (samples - total) * report(out, options=("-e", "cpu")).cpu["interval_ns"]
    assert beside == pytest.approx(truth["costs"]["beside"], rel=LOOSE * 5 / (samples - total) ** 0.5)


COSTS = ("--requests", 5, "--costs", 12)


@pytest.mark.measured
def test_samples_of_requests(tmp_path, tfm):
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,request", "-F", 997, "-o", out, "--", *server(tfm, *COSTS)).expect()
    check_costs(result.truth, out)
    slowest = max((r for r in shown_of(out).data["longest"] if r["name"] == "GET /cost/20"), key=lambda r: r["ns"])
    one, all_of_them = of(out, slowest["trace"]), of(out, "/cost/20")
    assert 0 < one.cpu["samples"] < all_of_them.cpu["samples"]
    assert "for 1 of " in " ".join(one.data["problems"])


@pytest.mark.slow
@pytest.mark.measured
def test_samples_of_requests_after_attach(tmp_path, tfm):
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(server(tfm, *COSTS, "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "cpu,request", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("cpu,request", out, when, "the last request", detach=True)
    check_costs(result.truth, out)


def test_events_of_requests(tmp_path):
    """Exceptions are of the requests that they were thrown for, all of them; so is what was allocated, and on the page."""
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "exception,alloc=100k,switch,request", "-o", out, "--",
                 *server(NEWEST, "--requests", 200, "--costs", 1)).expect()

    def thrown(shown):
        return {t["name"]: t["count"] for t in shown.data["types"]}.get("Microsoft.AspNetCore.Http.BadHttpRequestException", 0)

    everything = thrown(report(out, options=("-e", "exception")))
    assert everything >= 800
    assert thrown(of(out, "GET /fail/*", "exception")) == everything
    assert thrown(of(out, "POST *,GET /items/*", "exception")) == 0
    whole = report(out, options=("-e", "alloc")).data["events"]["alloc"]["samples"]
    assert 0 < of(out, "*", "alloc").data["events"]["alloc"]["samples"] < whole
    shown = of(out, "POST /sum", "request").data
    assert [s["name"] for s in shown["spans"]] == ["POST /sum"]
    assert "switch" not in shown["events"] and "without switch, of which nobody knows" in shown["problems"][0]
    page = tmp_path / "t.html"
    dnprof("export", "--request", "POST /sum", "-o", page, out).expect()
    assert b"those that match POST /sum" in page.read_bytes()


def test_requests_that_are_not_there(tmp_path):
    out, bare = tmp_path / "out.dnp", tmp_path / "bare.dnp"
    dnprof("run", "-q", "-e", "cpu,request,switch", "-o", out, "--", *server(NEWEST, "--requests", 5)).expect()
    dnprof("run", "-q", "-o", bare, "--", *program(NEWEST, "deep", "--work", 1)).expect()
    refused(dnprof("report", "--request", "GET /item/*", out), 1, "matches none of 60 requests", "much like it are: GET /items/{number}")
    refused(dnprof("report", "--request", "z", out), 1, "matches none of 60 requests", "dnprof report -e request")
    told(dnprof("report", "--request", "POST *,GET /item/*", out), 3, "GET /item/.' matches none of 60 requests", "GET /items/.number")
    refused(dnprof("report", "--request", "GET *", bare), 1, "no request was recorded", "-e cpu,request")
    dnprof("run", "-q", "-e", "request", "-o", bare, "--", *server(NEWEST, "--requests", 5)).expect()
    assert [s["name"] for s in of(bare, "POST *", "request").data["spans"]] == ["POST /sum"]
    refused(dnprof("report", "-e", "switch", "--request", "GET *", out), 1, "cannot show switch for --request")
    refused(dnprof("export", "--request", "GET *", "-o", tmp_path / "t.pftrace", out), 1, "perfetto shows switches of threads")
