"""Applications meet 429: who is refused, and how the SDK lives with it."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from urllib.parse import quote

import pytest
from azure.cosmos import CosmosClient, documents
from azure.cosmos._retry_options import RetryOptions
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import ENDPOINT, KEY


def admin(verb, path, body=None):
    date = formatdate(usegmt=True)
    link = path.lstrip("/").split("?")[0]
    text = f"{verb.lower()}\n_orrery\n{link}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    request = urllib.request.Request(
        ENDPOINT.rstrip("/") + path,
        method=verb,
        data=json.dumps(body).encode() if body else None,
        headers={
            "authorization": quote(f"type=master&ver=1.0&sig={signature}", safe=""),
            "x-ms-date": date,
        },
    )
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        return json.loads(answer.read())


@pytest.fixture
def throttled(container):
    """A container of two ranges with 200 RU/s each, its link, and a key in each range."""
    link = container.container_link
    admin("POST", f"/_orrery/partitions/{link}", {"split": {"range": "0"}})
    until = time.time() + 30
    while len(partitions(link)) < 2:
        assert time.time() < until, "the split does not end"
        time.sleep(0.05)
    # 100 KB cost 9.95 RU to read: 20 reads a second are the budget of a range.
    keys = {}
    for number in range(100):
        if len(keys) == 2:
            break
        key = f"customer-{number}"
        item = {"id": "1", "customer": key, "text": "x" * 100_000}
        found = {}
        container.upsert_item(item, response_hook=lambda headers, _: found.update(headers))
        keys.setdefault(found["x-ms-session-token"].split(":")[0], key)
    admin("PUT", "/_orrery/throttle", {"container": link, "throttle": True})
    time.sleep(1.1)
    return link, [keys[name] for name in sorted(keys)]


def partitions(link):
    return admin("GET", f"/_orrery/partitions/{link}")["partitions"]


def without_retries(container):
    policy = documents.ConnectionPolicy()
    policy.RetryOptions = RetryOptions(max_retry_attempt_count=0)
    policy.DisableSSLVerification = True
    client = CosmosClient(ENDPOINT, KEY, connection_policy=policy, connection_verify=False)
    database, name = container.container_link.split("/")[1::2]
    return client.get_database_client(database).get_container_client(name)


class Reads:
    """Reads of an item at a fixed pace; counts who was refused."""

    def __init__(self, container, key):
        self.container, self.key = container, key
        self.served, self.refused, self.charge = 0, 0, 0.0
        self.lock = threading.Lock()

    def read(self):
        charge = {}
        try:
            self.container.read_item(
                "1",
                partition_key=self.key,
                response_hook=lambda headers, _: charge.update(headers),
            )
        except CosmosHttpResponseError as error:
            assert error.status_code == 429, error
            assert error.sub_status == 3200, error
            assert int(error.headers["x-ms-retry-after-ms"]) > 0
            with self.lock:
                self.refused += 1
            return
        with self.lock:
            self.served += 1
            self.charge += float(charge["x-ms-request-charge"])


def test_one_hot_key_is_refused_alone(container, throttled):
    _, (hot_key, light_key) = throttled
    plain = without_retries(container)
    hot, light = Reads(plain, hot_key), Reads(plain, light_key)
    hot.read(), light.read()  # connections open, caches fill
    hot.refused = hot.served = light.served = 0
    hot.charge = light.charge = 0.0
    seconds, per_second = 6, 60
    start = float(int(time.time()) + 1)
    with ThreadPoolExecutor(8) as pool:
        for number in range(seconds * per_second):
            time.sleep(max(0.0, start + number / per_second - time.time()))
            pool.submit(hot.read)
            if number % 12 == 0:
                pool.submit(light.read)
    # A machine that could not keep the pace has spread the reads over more seconds.
    seconds = max(float(seconds), time.time() - start)
    sent = hot.served + hot.refused
    computed = 1 - 200 * seconds / (sent * 9.95)
    share = hot.refused / sent
    assert abs(share - computed) < 0.05, (share, computed, sent, seconds)
    assert light.refused == 0 and light.served == 30
    assert (hot.charge + light.charge) / seconds < 400 * 0.8


def test_retries_carry_an_application_through(container, throttled):
    link, (hot_key, _) = throttled
    answered = []

    def read(_):
        container.read_item(
            "1",
            partition_key=hot_key,
            response_hook=lambda headers, _: answered.append(headers["x-ms-request-charge"]),
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(60)))
    assert len(answered) == 60, "every read was answered in the end"
    shown = admin("GET", "/_orrery/throughput?seconds=60&top=1")
    mine = next(one for one in shown["containers"] if one["container"] == link)
    assert sum(one["refused"] for one in mine["ranges"]) > 0, "some were refused on the way"


def test_raising_the_throughput_helps_at_once(container, throttled):
    _, (hot_key, _) = throttled
    container.replace_throughput(4_000)
    plain = without_retries(container)
    reads = Reads(plain, hot_key)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: reads.read(), range(40)))
    assert reads.refused == 0 and reads.served == 40


def test_statistics_of_partitions_and_quotas_are_told(container):
    for number in range(5):
        container.create_item({"id": str(number), "customer": "giant", "text": "x" * 2_000})
    headers = {}
    read = container.read(
        populate_partition_key_range_statistics=True,
        populate_quota_info=True,
        response_hook=lambda answer, _: headers.update(answer),
    )
    assert read["statistics"][0]["documentCount"] == 5
    assert read["statistics"][0]["partitionKeys"][0]["partitionKey"] == ["giant"]
    assert "documentsCount=5;" in headers["x-ms-resource-usage"]
