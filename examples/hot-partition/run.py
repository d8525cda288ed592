"""A hot partition, seen in a minute: the same orders under three partition keys, the same load.

    cargo build --release
    pip install azure-cosmos
    python examples/hot-partition/run.py

starts a server at scale 1/1000 (a physical partition has 10 RU/s at most instead of 10,000), gives
each container the same throughput, reads the same orders at the same pace, and prints for each key
what the physical partitions used of their budgets, how many requests were refused with 429, and how
long the application waited. See README.md beside this file.
"""

import argparse
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from urllib.parse import quote, urlsplit

from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
# What shops do: nearly all that is asked for is open, and a few statuses are all there are.
STATUSES = ["open"] * 18 + ["shipped", "returned"]
TENANTS, USERS = 40, 400
LAYOUTS = [
    ("by-status", PartitionKey("/status")),
    ("by-customer", PartitionKey("/customerId")),
    ("by-tenant-and-user", PartitionKey(["/tenantId", "/userId"], kind="MultiHash")),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=400, help="orders in each container")
    parser.add_argument("--seconds", type=float, default=20, help="length of each load")
    parser.add_argument("--rate", type=float, default=24, help="reads per second")
    parser.add_argument("--throughput", type=int, default=60, help="RU/s of each container")
    parser.add_argument("--binary", help="the orrery binary [default: of the release build]")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


def start_server(binary):
    """A server in memory on a port that the system chooses; its process and its address."""
    target = pathlib.Path(__file__).resolve().parents[2] / "target"
    binary = binary or os.environ.get("ORRERY_BINARY") or target / "release" / "orrery"
    server = subprocess.Popen(
        [binary, "serve", "--in-memory", "--port", "0", "--health-port", "0", "--scale", "1/1000"],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in server.stdout:
        if line.startswith("Now listening on: "):
            return server, line.split(": ", 1)[1].strip()
    sys.exit("the server did not start")


def ask(endpoint, verb, path, body=None):
    """A request to the admin API, signed like any other."""
    date = formatdate(usegmt=True)
    link = path.lstrip("/").split("?")[0]
    text = f"{verb.lower()}\n_orrery\n{link}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    headers = {
        "authorization": quote(f"type=master&ver=1.0&sig={signature}", safe=""),
        "x-ms-date": date,
    }
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=30)
    connection.request(verb, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status != 200:
        sys.exit(f"{path}: {answer.status} {text.decode()}")
    return json.loads(text)


def orders(count):
    draw = random.Random(1)
    for number in range(count):
        user = draw.randrange(USERS)
        yield {
            "id": f"order-{number}",
            "status": draw.choice(STATUSES),
            "customerId": f"customer-{user}",
            "tenantId": f"tenant-{user % TENANTS}",
            "userId": f"user-{user}",
            "total": draw.randrange(1, 500),
        }


def key_of(layout, order):
    return {
        "by-status": order["status"],
        "by-customer": order["customerId"],
        "by-tenant-and-user": [order["tenantId"], order["userId"]],
    }[layout]


class Load:
    """Point reads at a fixed pace, as an application behind a queue of users would send them."""

    def __init__(self, container, layout, items):
        self.container, self.layout, self.items = container, layout, items
        self.latencies, self.failures = [], 0
        self.lock = threading.Lock()

    def run(self, seconds, rate):
        draw = random.Random(2)
        # On the second, like the budgets.
        start = float(int(time.time()) + 1)
        with ThreadPoolExecutor(64) as pool:
            for number in range(int(seconds * rate)):
                due = start + number / rate
                time.sleep(max(0.0, due - time.time()))
                pool.submit(self.read, draw.choice(self.items), due)

    def read(self, order, due):
        try:
            self.container.read_item(order["id"], partition_key=key_of(self.layout, order))
            failed = 0
        except CosmosHttpResponseError:
            failed = 1
        with self.lock:
            self.latencies.append(time.time() - due)
            self.failures += failed

    def percentile(self, share):
        times = sorted(self.latencies)
        return times[min(len(times) - 1, int(share * len(times)))] if times else 0.0


def figures(endpoint, name):
    shown = ask(endpoint, "GET", "/_orrery/throughput?seconds=1&top=1")
    link = f"dbs/shop/colls/{name}"
    return next(one for one in shown["containers"] if one["container"] == link)


def measure(endpoint, database, layout, partition_key, args):
    container = database.create_container(layout, partition_key, offer_throughput=args.throughput)
    items = list(orders(args.orders))
    for order in items:
        container.create_item(order)
    link = {"container": f"dbs/shop/colls/{layout}"}
    ask(endpoint, "PUT", "/_orrery/throttle", {**link, "throttle": True})
    before = figures(endpoint, layout)
    load = Load(container, layout, items)
    load.run(args.seconds, args.rate)
    after = figures(endpoint, layout)
    served = refused = 0
    ranges = []
    for was, now in zip(before["ranges"], after["ranges"]):
        used = (now["charge"] - was["charge"]) / args.seconds
        share = now["refused"] - was["refused"]
        served += now["requests"] - was["requests"]
        refused += share
        ranges.append({"id": now["id"], "used": used, "budget": now["budget"], "refused": share})
    return {
        "layout": layout,
        "ranges": ranges,
        "share429": refused / max(1, served + refused),
        "used": sum(one["used"] for one in ranges),
        "p50": load.percentile(0.5),
        "p99": load.percentile(0.99),
        "reads": len(load.latencies),
        "failed": load.failures,
    }


def show(result, args):
    print(f"\n{result['layout']}")
    for one in result["ranges"]:
        share = one["used"] / one["budget"]
        bar = "#" * min(30, round(share * 30))
        note = f"  {one['refused']} x 429" if one["refused"] else ""
        print(f"  range {one['id']:>2}  [{bar:<30}] {one['used']:5.1f} of {one['budget']:.1f} RU/s{note}")
    print(
        f"  used {result['used']:.0f} of {args.throughput} RU/s; "
        f"{result['share429']:.0%} of the requests were refused with 429"
    )
    print(
        f"  the application waited {result['p50'] * 1000:.0f} ms (median), "
        f"{result['p99'] * 1000:.0f} ms (p99); {result['failed']} of {result['reads']} reads failed"
    )


def main():
    args = arguments()
    server, endpoint = start_server(args.binary)
    try:
        # Like an application that gives up after a while: five retries after 429, not nine.
        client = CosmosClient(endpoint, KEY, retry_throttle_total=5)
        database = client.create_database("shop")
        results = []
        for layout, partition_key in LAYOUTS:
            results.append(measure(endpoint, database, layout, partition_key, args))
            if not args.json:
                show(results[-1], args)
        if args.json:
            print(json.dumps(results))
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main()
