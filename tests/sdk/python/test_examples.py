"""The examples do what their README files say, at a small size."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
# `cargo xtask test` names the binary that it has built.
BINARY = os.environ.get("ORRERY_BINARY", str(ROOT / "target" / "debug" / "orrery"))


def test_a_hot_partition_collapses_while_most_throughput_idles():
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / "hot-partition" / "run.py", "--json"]
        + ["--binary", BINARY]
        + ["--orders", "60", "--seconds", "6", "--rate", "24"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=110,
    )
    by_layout = {one["layout"]: one for one in json.loads(run.stdout)}
    status = by_layout["by-status"]
    customer = by_layout["by-customer"]
    assert len(status["ranges"]) == 10
    hot = [one for one in status["ranges"] if one["refused"] > 0]
    assert len(hot) == 1, "one physical partition is refused alone"
    assert status["share429"] > 0.4
    assert status["used"] < 30, "half of the throughput and more is unused"
    assert customer["share429"] < 0.15
    assert customer["used"] > status["used"]
    assert customer["failed"] == 0
    assert status["p99"] > customer["p99"]
    assert by_layout["by-tenant-and-user"]["share429"] < status["share429"]
