"""Runs the golden scripts through the Python SDK: its own plans, its own merge over the ranges.

`cargo xtask golden` starts it with the address of a server, its key, a file with the scripts as
JSON, and `RANGES:PAGE-SIZE,...` settings (page size 0: the client does not say). In the middle of
all walks of a setting it prints `RESTART`, and goes on when it is told that the server is back.
"""

import itertools
import json
import sys
import uuid

from azure.cosmos import CosmosClient, exceptions

SYSTEM = {"_rid", "_self", "_etag", "_attachments", "_ts"}
# Offers that give containers of so many ranges.
OFFERS = {1: 400, 3: 18000, 16: 96000}

endpoint, key, file, settings = sys.argv[1:5]
scripts = json.load(open(file, encoding="utf-8"))


def comparable(value):
    """A text that two values share exactly when they are equal: all numbers are doubles."""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(name) + ":" + comparable(value[name]) for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(comparable, value)) + "]"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    return repr(float(value) + 0.0)


def plain(row):
    if isinstance(row, dict):
        return {name: row[name] for name in row if name not in SYSTEM}
    return row


def judge(case, rows):
    found, wanted = [comparable(plain(row)) for row in rows], [comparable(row) for row in case["rows"]]
    if case["order"] == "exact":
        good = found == wanted
    elif case["order"] == "any":
        good = sorted(found) == sorted(wanted)
    else:
        rest = list(wanted)
        good = len(found) == case["count"]
        for row in found:
            good = good and row in rest
            if good:
                rest.remove(row)
    return None if good else f"found {' '.join(found)}\n  wanted {' '.join(wanted)}"


class Walk:
    """One query, page by page."""

    def __init__(self, container, case, size):
        self.case, self.size, self.rows, self.outcome = case, size, [], None
        options = {}
        if size:
            options["max_item_count"] = size
        if case["key"] is None:
            options["enable_cross_partition_query"] = True
        else:
            options["partition_key"] = case["key"][0] if len(case["key"]) == 1 else case["key"]
        self.pages = iter(
            container.query_items(case["query"], parameters=case["parameters"], **options).by_page()
        )

    def go(self, most):
        """Reads so many pages at most; a query that is at its end or refused says its outcome."""
        try:
            for page in itertools.islice(self.pages, most):
                rows = list(page)
                if self.size and len(rows) > self.size:
                    self.outcome = f"a page of {len(rows)} rows"
                    return
                self.rows += rows
                most -= 1
        except exceptions.CosmosHttpResponseError as error:
            is_wanted = self.case["order"] == "error" and error.status_code == 400
            if is_wanted:
                is_wanted = all(text in str(error) for text in self.case["rows"])
            self.outcome = "" if is_wanted else f"refused: {error.status_code} {error}"
            return
        except Exception as error:  # what the SDK itself trips over
            self.outcome = f"{type(error).__name__}: {error}"
            return
        if most > 0 and self.case["order"] == "error":
            self.outcome = "not refused"
        elif most > 0:
            self.outcome = judge(self.case, self.rows) or ""


def fill(database, script, ranges):
    definition = script["container"]
    body = {**definition, "id": f"{script['name']}-{ranges}"}
    database.client_connection.CreateContainer(
        database.database_link, body, options={"offerThroughput": OFFERS[ranges]}
    )
    container = database.get_container_client(body["id"])
    paths = definition["partitionKey"]["paths"]
    for item in script["items"]:
        if len(paths) == 1:
            container.upsert_item(item)
        else:
            # Left to itself, the SDK sends null for a level that the item does not have.
            levels = [item.get(path[1:], {}) for path in paths]
            container.execute_item_batch([("upsert", (item,))], partition_key=levels)
    found = list(database.client_connection._ReadPartitionKeyRanges(container.container_link))
    assert len(found) == ranges, f"{len(found)} ranges instead of {ranges}"
    return container


def restart(client):
    print("RESTART", flush=True)
    assert sys.stdin.readline().strip() == "GO"
    # Connections of the pool that the old server left behind are found out here.
    for _ in range(20):
        try:
            list(client.list_databases())
            return
        except Exception:
            continue


def main():
    complaints, passed, skipped = [], 0, 0
    client = CosmosClient(endpoint, key, connection_verify=False)
    database = client.create_database("golden-" + uuid.uuid4().hex)
    containers = {}
    for setting in settings.split(","):
        ranges, size = map(int, setting.split(":"))
        walks = []
        for script in scripts:
            place = (script["name"], ranges)
            if place not in containers:
                containers[place] = fill(database, script, ranges)
            for case in script["cases"]:
                is_merged = ranges > 1 and case["key"] is None
                skips = case["notMergedBy"] if is_merged else case["unplanned"]
                if "python" in case["without"] + skips:
                    skipped += 1
                    continue
                walks.append((script["name"], Walk(containers[place], case, size)))
        for _, walk in walks:
            half = len(walk.case["rows"]) // (2 * size) if size else 1
            walk.go(max(1, half))
        restart(client)
        for _, walk in walks:
            if walk.outcome is None:
                walk.go(100_000)
        for name, walk in walks:
            if walk.outcome is None:
                walk.outcome = "does not end"
            if walk.outcome:
                complaints.append(f"{name} `{walk.case['name']}` {setting}: {walk.outcome}")
            else:
                passed += 1
    for complaint in complaints:
        print("WRONG", complaint, flush=True)
    client.delete_database(database)
    print(f"DONE python: {passed} walks right, {len(complaints)} wrong, {skipped} not merged by this SDK", flush=True)
    sys.exit(1 if complaints or not passed else 0)


main()
