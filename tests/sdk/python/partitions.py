"""Splits and merges through the server's admin API (docs/admin-api.md)."""

import base64
import hashlib
import hmac
import json
import ssl
import time
import urllib.parse
import urllib.request
from email.utils import formatdate

from conftest import ENDPOINT, KEY

TIMEOUT = 60


def _ask(method, container, body=None):
    path = "_orrery/partitions/" + container.container_link
    date = formatdate(usegmt=True)
    text = f"{method.lower()}\n_orrery\n{path}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    token = f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}"
    request = urllib.request.Request(
        f"{ENDPOINT.rstrip('/')}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": urllib.parse.quote(token, safe=""), "x-ms-date": date},
    )
    context = ssl._create_unverified_context() if ENDPOINT.startswith("https") else None
    with urllib.request.urlopen(request, context=context, timeout=TIMEOUT) as answer:
        return json.load(answer)


def ranges(container):
    """The ids of the partition key ranges in the order of their keys."""
    return [one["id"] for one in _ask("GET", container)["partitions"]]


def change(container, body):
    """Asks for a split or merge and waits until it is done."""
    asked = _ask("POST", container, body)
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        mine = [one for one in _ask("GET", container)["operations"] if one["id"] == asked["id"]]
        assert mine[0]["stage"] != "failed", mine
        if mine[0]["stage"] == "done":
            return mine[0]
        time.sleep(0.02)
    raise AssertionError(f"{body} is not done")


def split(container, into=2):
    """Splits every range."""
    for one in ranges(container):
        change(container, {"split": {"range": one, "into": into}})


def merge(container):
    """Merges the ranges two by two."""
    ids = ranges(container)
    for pair in zip(ids[::2], ids[1::2]):
        change(container, {"merge": {"ranges": list(pair)}})
