"""Hostile queries, and the memory that they take: `cargo xtask bench --queries --hostile`.

The server runs as it does by default, over the generated orders (a million) and some items with large
arrays. Every answer has to be one of the service's errors or a page, in bounded time; a walk over
pages is given up after a while. The server's memory has to stay under the bar all along.
"""

import json
import os
import sys
import threading
import time

import datasets
from orrery import Orrery, Refusal, field

MOST_BYTES = 512 << 20
# Within one answer; the limits of the server are 5 s for a page and 60 s for what cannot be resumed.
MOST_SECONDS = 70
# A walk over pages is left then.
WALK_SECONDS = 20
# The service's refusals: of the text, of what it costs, of what takes too long.
REFUSALS = {400, 403, 408, 413, 429}

ARRAYS = {
    "key": "/id",
    "policy": {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/list/*"}]},
}


def items_with_arrays(count, elements):
    for number in range(count):
        yield {"id": str(number), "list": list(range(elements)), "text": "a" * 20_000 + "b"}


def queries():
    """Name, table and text."""
    members = ",".join(str(number) for number in range(10_000))
    words = ",".join(f"'town{number}'" for number in range(10_000))
    nested = "(" * 1_000 + "1" + ")" * 1_000
    long = "SELECT * FROM c WHERE c.number = 1 " + "OR c.number = 1 " * (512 * 1024 // 16)
    return [
        ("text of 512 KB, more than may be", "nested", long),
        ("text of 512 KB in one string", "nested", "SELECT * FROM c WHERE c.note = '" + "x" * (511 << 10) + "'"),
        ("text of 250 KB of conditions", "nested", long[:250_000].rsplit("OR", 1)[0]),
        ("IN of 10,000 numbers", "nested", f"SELECT * FROM c WHERE c.number IN ({members})"),
        ("IN of 10,000 strings", "nested", f"SELECT VALUE COUNT(1) FROM c WHERE c.address.town IN ({words})"),
        ("NOT IN of 10,000", "nested", f"SELECT c.id FROM c WHERE c.number NOT IN ({members})"),
        ("1,000 parentheses", "nested", f"SELECT * FROM c WHERE c.number = {nested}"),
        ("10,000 NOT", "nested", "SELECT * FROM c WHERE " + "NOT " * 10_000 + "true"),
        ("JOIN of three large arrays", "arrays", "SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list"),
        ("rows of two large arrays", "arrays", "SELECT a, b FROM c JOIN a IN c.list JOIN b IN c.list"),
        ("array of a JOIN", "arrays", "SELECT ARRAY(SELECT a, b FROM a IN c.list JOIN b IN c.list) AS pairs FROM c"),
        ("regular expression, catastrophic", "arrays", "SELECT VALUE COUNT(1) FROM c WHERE REGEXMATCH(c.text, '^(a+)+$')"),
        ("regular expression, large when compiled", "arrays", "SELECT VALUE COUNT(1) FROM c WHERE REGEXMATCH(c.text, '((a{0,500}){0,500}){0,500}$')"),
        ("LIKE with many wildcards", "arrays", "SELECT VALUE COUNT(1) FROM c WHERE c.text LIKE '" + "%a" * 500 + "%c'"),
        ("ORDER BY, path excluded", "nested", "SELECT * FROM c ORDER BY c.note"),
        ("ORDER BY of all, indexed", "nested", "SELECT * FROM c ORDER BY c.total DESC"),
        ("ORDER BY of all, short rows, no index", "nested", "SELECT c.id FROM c ORDER BY c.twice"),
        ("ORDER BY of all, whole items, no index", "nested", "SELECT * FROM c ORDER BY c.twice DESC"),
        ("ORDER BY RANK of all", "nested", "SELECT c.id FROM c ORDER BY RANK FullTextScore(c.note, 'amber', 'jetty')"),
        ("ORDER BY of all by distance", "nested", "SELECT TOP 10 c.id FROM c ORDER BY VectorDistance(c.lines, [1, 2, 3])"),
        ("DISTINCT of all", "nested", "SELECT DISTINCT c.note FROM c"),
        ("GROUP BY with a group an item", "nested", "SELECT c.id, COUNT(1) AS n FROM c GROUP BY c.id"),
        ("MAKELIST of all", "nested", "SELECT VALUE MAKELIST(c.note) FROM c"),
        ("OFFSET behind all", "nested", "SELECT * FROM c ORDER BY c.total OFFSET 999000 LIMIT 10"),
        ("all items", "nested", "SELECT * FROM c"),
    ]


def answer(server, table, text):
    """What came: rows and pages, or the refusal; and the longest answer."""
    query = server.prepare(table, text, {}, -1)
    started, longest, rows, pages, token = time.perf_counter(), 0.0, 0, 0, None
    while True:
        before = time.perf_counter()
        try:
            head, _ = server.page(query, token)
        except Refusal as refusal:
            if refusal.status not in REFUSALS:
                raise
            message = str(refusal).split('"message":"')[-1][:70]
            return f"{refusal.status} {message}", max(longest, time.perf_counter() - before)
        longest = max(longest, time.perf_counter() - before)
        rows, pages = rows + int(field(head, b"x-ms-item-count")), pages + 1
        token = field(head, b"x-ms-continuation")
        is_late = time.perf_counter() - started > WALK_SECONDS
        if not token or is_late:
            return f"{rows} rows, {pages} pages{', then left' if token else ''}", longest


class Client:
    """Another connection to the same server."""

    def __init__(self, server):
        self.url, self.process = server.url, server.process
        self.connect()

    connect, request, send, more, receive = Orrery.connect, Orrery.request, Orrery.send, Orrery.more, Orrery.receive
    prepare, page = Orrery.prepare, Orrery.page


def at_once(server, work):
    """Asks several queries at the same time; the first failure of any."""
    failures = []

    def ask(table, text):
        try:
            answer(Client(server), table, text)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask, args=(table, text)) for _, table, text in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def compute(server, properties):
    """Gives the orders computed properties, which no index knows."""
    body = {"id": "nested", "partitionKey": {"paths": [datasets.NESTED["key"]], "kind": "Hash", "version": 2},
            "indexingPolicy": datasets.NESTED["policy"], "computedProperties": properties}
    server.connect()
    link = "dbs/bench/colls/nested"
    server.send(*server.request("PUT", "colls", link, "/" + link, body))


def fill(server, at, arguments, loaded):
    orders, arrays = at("nested.ndjson"), at("arrays.ndjson")
    loaded.once("nested: written", lambda: datasets.write_items(orders, datasets.items_nested(arguments.items)))
    loaded.once("nested: loaded into OrreryDB", lambda: server.fill("nested", datasets.NESTED, orders))
    loaded.once("arrays: written", lambda: datasets.write_items(arrays, items_with_arrays(40, 20_000)))
    loaded.once("arrays: loaded into OrreryDB", lambda: server.fill("arrays", ARRAYS, arrays))


def run(arguments, at, loaded):
    server = Orrery(arguments.binary, at("orrery"))
    try:
        fill(server, at, arguments, loaded)
    finally:
        server.stop()
    # The memory of the load is not what is asked about.
    server = Orrery(arguments.binary, at("orrery"))
    rows, failures = [], []
    try:
        compute(server, [{"name": "twice", "query": "SELECT VALUE c.total * 2 FROM c"}])
        chosen = [query for query in queries() if not arguments.only or arguments.only in query[0]]
        for name, table, text in chosen:
            server.connect()
            came, longest = answer(server, table, text)
            memory = server.memory()
            rows.append({"query": name, "answer": came, "longest": longest, "memory": memory})
            print(f"{name:42} {longest:7.2f} s  {memory >> 20:5} MB so far  {came}", flush=True)
            if longest > MOST_SECONDS:
                failures.append(f"{name}: an answer took {longest:.0f} s")
        at_once(server, chosen)
        memory = server.memory()
        rows.append({"query": "all at once", "memory": memory})
        print(f"{'all of them at once':42} {'':9}  {memory >> 20:5} MB so far")
        if memory >= MOST_BYTES:
            failures.append(f"the server had {memory >> 20} MB")
        compute(server, [])
    finally:
        server.stop()
    if failures:
        sys.exit("\n".join(failures))
    return {"rows": rows}
