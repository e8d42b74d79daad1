from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab.tuning import thresholds
from tests.conftest import SMALL, Program

# PIAS's published ns-2 thresholds, in packets of 1460 B, by workload and load.
PUBLISHED = {
    "websearch": {
        0.9: [759, 1132, 1456, 1737, 2010, 2199, 2325],
        0.8: [909, 1329, 1648, 1960, 2143, 2337, 2484],
        0.7: [999, 1305, 1564, 1763, 1956, 2149, 2309],
        0.6: [956, 1381, 1718, 2028, 2297, 2551, 2660],
        0.5: [1059, 1412, 1643, 1869, 2008, 2115, 2184],
    },
    "datamining": {
        0.9: [750, 1083, 1416, 13705, 14952, 21125, 28253],
        0.8: [745, 1083, 1391, 13689, 14936, 21149, 27245],
        0.7: [907, 1301, 1619, 12166, 12915, 21313, 26374],
        0.6: [840, 1232, 1617, 11950, 12238, 21494, 25720],
        0.5: [805, 1106, 1401, 10693, 11970, 21162, 22272],
    },
}


@pytest.mark.parametrize("workload", PUBLISHED)
def test_empty_queues_are_told(workload: str) -> None:
    for load in PUBLISHED[workload]:
        found = thresholds.pias(workload, load)
        cuts = found.thresholds_bytes
        assert len(cuts) + found.empty_queues == 7 and list(cuts) == sorted(set(cuts))


def test_the_command(program: Program, tmp_path: Path) -> None:
    table = "size_bytes,cumulative_probability\n1000,0.5\n100000,1\n"
    (tmp_path / "mine.csv").write_text(table)
    done = program("thresholds", "pias", "--workload", "mine.csv", "--queues", "3", "--json")
    assert len(json.loads(done.stdout)["thresholds_bytes"]) == 2
    done = program("thresholds", "pias", "--workload", "datamining", "--load", "0.8")
    assert "objective" in done.stdout
    mistakes = [
        (("thresholds", "pias", "--load", "1.3"), "--load: 1.3 is not in (0, 1)"),
        (("thresholds", "pias", "--queues", "1"), "--queues: 1 is not in [2, 16]"),
        (("thresholds", "las"), "thresholds: 'las' has no thresholds to solve; known: pias"),
        (("thresholds", "pias", "--workload", "websurch"), 'did you mean "websearch"?'),
        (("thresholds", "pias", "--workload", "none.csv"), "none.csv"),
    ]
    for arguments, error in mistakes:
        done = program(*arguments)
        assert done.returncode == 2 and error in done.stderr and "Traceback" not in done.stderr


def test_the_schemes_of_the_paper_run_side_by_side() -> None:
    schemes = ["pias", "las", "l2dct", "d-srtf", "d-srtf-ia"]
    found = fctlab.compare(SMALL, schemes)
    assert [run.counters["flows_finished"] for run in found.results] == [300] * len(schemes)


def test_d_srtf_that_sees_no_congestion_is_pias_with_its_bytes() -> None:
    """With alpha held at 0 (no marks), remaining time is bytes sent at 10 Gbps."""
    times = [120_000 * 3**i for i in range(7)]  # ns; a time of T_i belongs to the next queue
    sizes = [time * 10 // 8 - 1 for time in times]
    transport = {"kind": "dctcp", "initial_alpha": 0.0}
    port = {"buffer": "200pkt", "ecn_threshold": "none"}
    by_time = {"preset": "d-srtf", "transport": transport, "port": port}
    queues = {"kind": "priority", "thresholds": sizes}
    by_size = {"preset": "pias", "transport": transport, "port": port | {"discipline": queues}}
    traffic = SMALL["traffic"] | {"workload": "websearch", "load": 0.8}
    found = [fctlab.run(SMALL | {"traffic": traffic, "scheme": s}) for s in (by_time, by_size)]
    assert found[0].flows.equals(found[1].flows)
    plain = fctlab.run(SMALL | {"traffic": traffic, "scheme": "dctcp"})
    assert not found[0].flows.equals(plain.flows)


def test_a_mix_has_as_many_bytes_of_each() -> None:
    # Sizes 1 KB and 3 KB, with equal bytes: three flows of 1 KB for each of 3 KB.
    fixed = [{"kind": "fixed", "size": size} for size in ("1KB", "3KB")]
    mix = {"kind": "bimodal", "small": "1KB", "large": "3KB", "small_share": 0.75}
    assert thresholds.solve(fixed, 0.5, 2) == thresholds.solve([mix], 0.5, 2)
    web, both = (
        thresholds.solve(names, 0.8, 4)[0] for names in (["websearch"], ["websearch", "datamining"])
    )
    assert web != both


def test_what_is_printed_is_what_scenarios_take() -> None:
    found = thresholds.pias("websearch", 0.6, 4)
    numbers, units = list(found.thresholds_bytes), list(found.thresholds)

    def run(cuts: list[Any], **scheme: Any) -> fctlab.Result:
        port = {"discipline": {"kind": "priority", "thresholds": cuts}}
        return fctlab.run(SMALL | {"scheme": {"preset": "pias", "port": port, **scheme}})

    assert run(units).flows.equals(run(numbers).flows)
    assert run(units).scenario == run(numbers).scenario
    in_time = run(["120us", "360us"], tagger="remaining-time")
    assert in_time.flows.equals(run([120_000, 360_000], tagger="remaining-time").flows)
    # Where tags are times, a size is the time that a host's link takes for it.
    in_size = run(["150KB", "450KB"], tagger="remaining-time")
    assert in_size.flows.equals(in_time.flows)
    for cuts, tagger, error in (
        (["120us"], "sent", "120us: the tags of sent are sizes"),
        (["10KB"], "class", "10KB: the tags of class are plain numbers"),
        (["10KB", "10KB"], "sent", "thresholds must increase"),
        (["9GB"], "sent", "9GB is more than a tag holds"),
        (["often"], "sent", "'often' is not a threshold"),
    ):
        with pytest.raises(fctlab.SpecError, match=error.replace("'", '"')):
            run(cuts, tagger=tagger)


def test_queues_that_would_stay_empty_are_left_out_and_told() -> None:
    found = thresholds.pias({"kind": "fixed", "size": "2KB"}, 0.5, 8)
    cuts = found.thresholds_bytes
    assert list(cuts) == sorted(set(cuts)) and len(cuts) + found.empty_queues == 7
    assert found.empty_queues > 0


def test_thresholds_that_follow_the_traffic(tmp_path: Path) -> None:
    def cuts(word: str, queues: int | None = None, **traffic: Any) -> list[int]:
        discipline: dict[str, Any] = {"kind": "priority", "thresholds": word}
        if queues is not None:
            discipline["queues"] = queues
        scheme = {"preset": "pias", "port": {"discipline": discipline}}
        of_all = {key: value for key, value in traffic.items() if value is not None}
        scenario = fctlab.load_scenario(SMALL | {"traffic": of_all, "scheme": scheme})
        resolved = scenario.resolve()["scheme"]["port"]["discipline"]
        assert list(resolved) == ["kind", "thresholds"]
        found: list[int] = resolved["thresholds"]
        return found

    web: dict[str, Any] = {"workload": "websearch", "load": 0.77, "flows": 100}
    # Published for the nearest load, solved where nothing is published.
    assert cuts("workload", **web) == [n * 1460 for n in PUBLISHED["websearch"][0.8]]
    solved = thresholds.pias("websearch", 0.77)
    assert cuts("solve", **web) == list(solved.thresholds_bytes)
    assert cuts("workload", 4, **web) == list(
        thresholds.pias("websearch", 0.77, 4).thresholds_bytes
    )
    hadoop = web | {"workload": "hadoop"}
    assert cuts("workload", **hadoop) == list(thresholds.pias("hadoop", 0.77).thresholds_bytes)
    # A trace's own sizes and load.
    trace = tmp_path / "flows.csv"
    rows = (f"{i}e-6,{i % 2},2,{(i % 3 + 1) * 400}" for i in range(1998))
    trace.write_text("\n".join(["start_s,src,dst,size_bytes", *rows]) + "\n")
    load = 1998 * (800 + 40) * 8 / 1997e-6 / 10e9
    own = thresholds.pias({"kind": "uniform", "sizes": ["400B", "800B", "1200B"]}, load)
    assert cuts("workload", trace=str(trace)) == list(own.thresholds_bytes)
    few = tmp_path / "few.csv"
    few.write_text("start_s,src,dst,size_bytes\n0,0,1,1000\n")
    # Too few to have a load, and of one size.
    assert cuts("workload", trace=str(few)) == [1000]
    with pytest.raises(fctlab.SpecError, match=r"queues: 1 is not a whole number from 2 to 16"):
        cuts("solve", 1, **web)
    port = {"discipline": {"kind": "priority", "thresholds": "workload"}}
    scheme = {"preset": "pias", "tagger": "class", "port": port}
    with pytest.raises(fctlab.SpecError, match="the tags of class are plain numbers"):
        fctlab.load_scenario(SMALL | {"scheme": scheme}).resolve()
