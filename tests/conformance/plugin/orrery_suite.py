"""A pytest plugin for the SDK's own tests: runs them as emulator tests against any port, counts
the requests of each test that the server answered, and writes one JSON line for each test.

Settings come from the environment: ACCOUNT_HOST and ACCOUNT_KEY (read by the tests themselves),
ORRERY_RESULTS (the file to write), ORRERY_SHARD ("2/3": only the second third of the files).
"""

import json
import os
import re
from urllib.parse import urlsplit

import pytest
from azure.core.pipeline.transport import AioHttpTransport, RequestsTransport

import test_config

# The tests take a host for the emulator only when it is https://localhost:8081/.
CONFIG = test_config.TestConfig
CONFIG.local_host = CONFIG.host
CONFIG.is_emulator = True
CONFIG.credential = CONFIG.credential_async = CONFIG.masterKey

PORT = urlsplit(CONFIG.host).port
answered = 0


def count(response):
    global answered
    if urlsplit(response.request.url).port == PORT:
        answered += 1
    return response


def watch():
    send, send_async = RequestsTransport.send, AioHttpTransport.send

    def counting_send(self, request, **options):
        return count(send(self, request, **options))

    async def counting_send_async(self, request, **options):
        return count(await send_async(self, request, **options))

    RequestsTransport.send, AioHttpTransport.send = counting_send, counting_send_async


watch()


MARKS = ["cosmosEmulator", "cosmosQuery", "cosmosSearchQuery"]


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(config, items):
    shard = os.environ.get("ORRERY_SHARD")
    if not shard:
        return
    number, of = (int(part) for part in shard.split("/"))
    files = sorted({item.location[0] for item in items})
    mine = {file for position, file in enumerate(files) if position % of == number - 1}
    config.hook.pytest_deselected(items=[item for item in items if item.location[0] not in mine])
    items[:] = [item for item in items if item.location[0] in mine]


def reason(report):
    """The line of a failure that says most."""
    text = report.longreprtext if report.longrepr else ""
    lines = [line[4:] for line in text.splitlines() if re.match(r"E   \s*\S", line)]
    telling = [line for line in lines if "Error" in line or "assert" in line] or lines
    if not telling:
        telling = [line for line in text.splitlines() if line.strip()][-1:]
    return " | ".join(line.strip()[:400] for line in telling[:3])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    before = answered
    item.orrery = {"test": item.nodeid, "outcome": "passed", "seconds": 0.0, "why": ""}
    item.orrery["marks"] = [mark for mark in MARKS if item.get_closest_marker(mark)]
    yield
    item.orrery["requests"] = answered - before
    with open(os.environ["ORRERY_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(item.orrery) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    record = item.orrery
    record["seconds"] = round(record["seconds"] + report.duration, 3)
    if report.skipped:
        record["outcome"] = "skipped"
        record["why"] = str(call.excinfo.value)[:200] if call.excinfo else ""
    elif report.failed and record["outcome"] != "failed":
        record["outcome"] = "failed" if report.when == "call" else "error"
        record["why"] = reason(report)
