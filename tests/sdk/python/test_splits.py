"""An application that goes on while its container's partitions split and merge.

No error may reach it; queries see every item once and in order; the change feed tells every change
once or more, in the order of each key.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.cosmos import CosmosClient, PartitionKey

import partitions
from conftest import ENDPOINT, KEY

STABLE = 150
KEYS = 20


@pytest.fixture
def container(database):
    container = database.create_container("splits", PartitionKey("/customer"), offer_throughput=400)
    for number in range(STABLE):
        container.create_item({"id": f"s{number}", "customer": f"c{number % KEYS}", "n": number})
    yield container
    database.delete_container(container)


def another(container):
    """The same container through a client of its own, with caches of its own."""
    client = CosmosClient(ENDPOINT, KEY, connection_verify=False)
    _, database, _, name = container.container_link.split("/")
    return client.get_database_client(database).get_container_client(name)


class Writer:
    """Counts up in an item of each key; reads back what was acknowledged."""

    def __init__(self):
        self.written = {}

    def run(self, container, stop):
        count = 0
        while not stop.is_set():
            count += 1
            key = f"w{count % KEYS}"
            container.upsert_item({"id": key, "customer": key, "v": count})
            self.written[key] = count
            item = container.read_item(key, key)
            assert item["v"] == count
        return count


def run_queries(container, stop):
    passes = 0
    ordered = "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.n) ORDER BY c.n"
    while not stop.is_set():
        size = (None, 50, 7)[passes % 3]
        rows = container.query_items(ordered, enable_cross_partition_query=True, max_item_count=size)
        assert list(rows) == list(range(STABLE))
        rows = container.query_items(
            "SELECT TOP 30 VALUE c.n FROM c WHERE IS_DEFINED(c.n) ORDER BY c.n DESC",
            enable_cross_partition_query=True, max_item_count=4)
        assert list(rows) == list(range(STABLE - 1, STABLE - 31, -1))
        rows = container.query_items(
            "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.n)", enable_cross_partition_query=True, max_item_count=20)
        assert sorted(rows) == list(range(STABLE))
        rows = container.query_items(
            "SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.n)", enable_cross_partition_query=True)
        assert list(rows) == [STABLE]
        rows = container.query_items(ordered, partition_key="c3", max_item_count=2)
        assert list(rows) == list(range(3, STABLE, KEYS))
        passes += 1
    return passes


def rows_at_rest(container):
    query = "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.n) ORDER BY c.n"
    return list(another(container).query_items(query, enable_cross_partition_query=True, max_item_count=5))


class Reader:
    """Follows the change feed by its continuation."""

    def __init__(self):
        self.last = {}
        self.told = 0

    def read(self, container, token):
        start = {"continuation": token} if token else {"start_time": "Beginning"}
        for change in container.query_items_change_feed(**start, max_item_count=9):
            if "v" in change:
                assert change["v"] >= self.last.get(change["id"], 0), "in the order of the key"
                self.last[change["id"]] = change["v"]
                self.told += 1
        return container.client_connection.last_response_headers["etag"]

    def run(self, container, stop):
        token = None
        while not stop.is_set():
            token = self.read(container, token)
        return self.read(container, token)


def test_an_application_lives_through_splits_and_merges(container):
    stop = threading.Event()
    writer, reader = Writer(), Reader()
    with ThreadPoolExecutor(3) as pool:
        try:
            writing = pool.submit(writer.run, another(container), stop)
            querying = pool.submit(run_queries, another(container), stop)
            following = pool.submit(reader.run, another(container), stop)
            for count in (2, 4, 8):
                partitions.split(container)
                assert len(partitions.ranges(container)) == count
                assert rows_at_rest(container) == list(range(STABLE))
            for count in (4, 2, 1):
                partitions.merge(container)
                assert len(partitions.ranges(container)) == count
                assert rows_at_rest(container) == list(range(STABLE))
        finally:
            stop.set()
        assert writing.result(60) > 0
        assert querying.result(60) > 0
        token = following.result(60)
    reader.read(another(container), token)
    assert reader.last == writer.written, "the last change of every key was told"
    counted = list(container.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True))
    assert counted == [STABLE + len(writer.written)]
    assert len(list(container.read_all_items())) == STABLE + len(writer.written)


def test_tokens_of_before_go_on_behind(container):
    query = "SELECT c.n FROM c WHERE IS_DEFINED(c.n)"
    pages = container.query_items(query, enable_cross_partition_query=True, max_item_count=10).by_page()
    found = [row["n"] for row in next(pages)]
    token = pages.continuation_token
    partitions.split(container, into=4)
    pages = another(container).query_items(query, enable_cross_partition_query=True, max_item_count=10)
    found += [row["n"] for page in pages.by_page(token) for row in page]
    assert sorted(found) == list(range(STABLE))
    partitions.merge(container)
    feed_ranges = list(container.read_feed_ranges())
    assert len(feed_ranges) == 2
    partitions.split(container)
    changes = [
        change["n"]
        for feed_range in feed_ranges
        for change in container.query_items_change_feed(feed_range=feed_range, start_time="Beginning")
    ]
    assert sorted(changes) == list(range(STABLE)), "feed ranges of before cover the same key space"
