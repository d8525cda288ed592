"""Compares a container of flights with the CSV file that was imported into it.

    check.py unpack SDIST FOLDER    take flights.csv out of the source distribution
    check.py compare CSV            read everything back from ORRERY_ENDPOINT and compare

What is expected is computed here, from the file, with Python's csv module only.
"""

import collections
import csv
import io
import os
import pathlib
import random
import sys
import tarfile
import time
import zipfile

MISSING = "NA"
NUMBERS = (
    "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight "
    "air_time distance hour minute"
).split()
SUMMED = "distance air_time arr_delay".split()
SYSTEM = {"id", "_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"}


def unpack(sdist, folder):
    """Writes flights.csv into a folder."""
    with tarfile.open(sdist) as archive:
        name = next(n for n in archive.getnames() if n.endswith("data/flights.csv.zip"))
        packed = io.BytesIO(archive.extractfile(name).read())
    with zipfile.ZipFile(packed) as inner:
        text = inner.read(next(n for n in inner.namelist() if n.endswith("flights.csv")))
    (pathlib.Path(folder) / "flights.csv").write_bytes(text)


def rows(path):
    """The flights of the file as items, by id."""
    flights = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            item = {name: text for name, text in row.items() if text not in (MISSING, "")}
            for name in NUMBERS:
                if name in item:
                    item[name] = float(item[name])
            key = f"{row['time_hour']}-{row['carrier']}-{row['flight']}"
            assert key not in flights, f"{key} is there twice"
            flights[key] = item
    return flights


def plain(item):
    """An item without what the service added."""
    return {name: value for name, value in item.items() if name not in SYSTEM}


def sums(flights):
    """Count, and the sum of each summed member."""
    found = [len(flights)]
    found.extend(sum(flight.get(name, 0) for flight in flights) for name in SUMMED)
    return found


def compare(path):
    """Reads the container in all ways and compares."""
    from azure.cosmos import CosmosClient

    flights = rows(path)
    client = CosmosClient(os.environ["ORRERY_ENDPOINT"], os.environ["ORRERY_KEY"])
    container = client.get_database_client("air").get_container_client("flights")

    def step(name, work):
        since = time.monotonic()
        print(f"  {name}: {work()} ({time.monotonic() - since:.1f} s)", flush=True)

    step("point reads", lambda: point_reads(container, flights))
    step("aggregates", lambda: aggregates(container, flights))
    step("filters", lambda: filters(container, flights))
    step("order", lambda: order(container, flights))
    step("change feed", lambda: change_feed(container, flights))


def point_reads(container, flights):
    """Some hundred flights, each member compared."""
    sample = random.Random(13).sample(sorted(flights), 500)
    for key in sample:
        item = container.read_item(key, partition_key=flights[key]["carrier"])
        assert plain(item) == flights[key], (item, flights[key])
    return f"{len(sample)} equal"


def aggregates(container, flights):
    """Count and sums of everything, and of each carrier."""

    def value(expression, condition="", **options):
        options = options or {"enable_cross_partition_query": True}
        text = f"SELECT VALUE {expression} FROM c {condition}"
        (found,) = container.query_items(text, **options)
        return found

    expressions = ["COUNT(1)", *(f"SUM(c.{name})" for name in SUMMED)]
    defined = {name: f"WHERE IS_DEFINED(c.{name})" for name in SUMMED}
    conditions = ["", *(defined[name] for name in SUMMED)]
    found = [value(*pair) for pair in zip(expressions, conditions)]
    assert found == sums(list(flights.values())), found
    carriers = collections.defaultdict(list)
    for flight in flights.values():
        carriers[flight["carrier"]].append(flight)
    for carrier, own in sorted(carriers.items()):
        found = [value(*pair, partition_key=carrier) for pair in zip(expressions, conditions)]
        assert found == sums(own), (carrier, found, sums(own))
    return f"{len(flights)} flights, {len(carriers)} carriers equal"


def filters(container, flights):
    """Conditions on one member and on several, indexed and computed."""
    conditions = [
        ("c.origin = 'JFK' AND c.dep_delay > 120", lambda f: f["origin"] == "JFK" and f.get("dep_delay", 0) > 120),
        ("c.dest IN ('ANC', 'LEX', 'HDN')", lambda f: f["dest"] in ("ANC", "LEX", "HDN")),
        ("NOT IS_DEFINED(c.dep_time)", lambda f: "dep_time" not in f),
        ("STARTSWITH(c.tailnum, 'N14')", lambda f: f.get("tailnum", "").startswith("N14")),
        ("c.month = 2 AND c.day = 29", lambda f: f["month"] == 2 and f["day"] == 29),
        ("c.arr_delay + 60 < c.dep_delay", lambda f: "arr_delay" in f and f["arr_delay"] + 60 < f["dep_delay"]),
    ]
    for condition, matches in conditions:
        text = f"SELECT VALUE c.id FROM c WHERE {condition}"
        found = sorted(container.query_items(text, enable_cross_partition_query=True))
        expected = sorted(key for key, flight in flights.items() if matches(flight))
        assert found == expected, (condition, len(found), len(expected))
    return f"{len(conditions)} equal"


def order(container, flights):
    """The latest arrivals across all carriers."""
    text = "SELECT TOP 1000 VALUE c.arr_delay FROM c ORDER BY c.arr_delay DESC"
    found = list(container.query_items(text, enable_cross_partition_query=True))
    delays = sorted((f["arr_delay"] for f in flights.values() if "arr_delay" in f), reverse=True)
    assert found == delays[:1000], found[:10]
    return f"{len(found)} equal"


def change_feed(container, flights):
    """Every flight once, and as it was imported."""
    seen = set()
    for item in container.query_items_change_feed(start_time="Beginning", max_item_count=5000):
        assert item["id"] not in seen, item
        seen.add(item["id"])
        assert plain(item) == flights[item["id"]], item
    assert len(seen) == len(flights), (len(seen), len(flights))
    return f"{len(seen)} equal"


if __name__ == "__main__":
    {"unpack": unpack, "compare": compare}[sys.argv[1]](*sys.argv[2:])
