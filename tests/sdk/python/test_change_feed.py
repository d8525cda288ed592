"""The change feed, pulled."""

from azure.cosmos import PartitionKey


def changes(container, **options):
    return [item["id"] for item in container.query_items_change_feed(**options)]


def test_changes_from_the_beginning_and_from_a_continuation(container):
    for number in range(5):
        container.create_item({"id": str(number), "customer": "ada"})
    assert changes(container, start_time="Beginning") == ["0", "1", "2", "3", "4"]
    token = container.client_connection.last_response_headers["etag"]
    assert changes(container, continuation=token) == []

    container.upsert_item({"id": "1", "customer": "ada", "n": 1})
    container.upsert_item({"id": "5", "customer": "ada"})
    container.upsert_item({"id": "1", "customer": "ada", "n": 2})
    assert changes(container, continuation=token) == ["5", "1"]
    assert changes(container, start_time="Beginning") == ["0", "2", "3", "4", "5", "1"]


def test_changes_of_one_key_and_of_one_range(database):
    container = database.create_container("spread", PartitionKey("/customer"), offer_throughput=20000)
    for number in range(60):
        container.create_item({"id": str(number), "customer": f"k{number % 6}"})
    assert changes(container, start_time="Beginning", partition_key="k2") == [str(n) for n in range(2, 60, 6)]
    parts = [
        changes(container, start_time="Beginning", feed_range=part) for part in container.read_feed_ranges()
    ]
    assert len(parts) > 1
    assert sorted(int(id) for part in parts for id in part) == list(range(60))
    for part in parts:
        assert part == sorted(part, key=int), "changes of a range come in the order of the writes"


def test_pages(container):
    for number in range(10):
        container.create_item({"id": str(number), "customer": "ada"})
    pages = container.query_items_change_feed(start_time="Beginning", max_item_count=3).by_page()
    sizes = [len(list(page)) for page in pages]
    assert sum(sizes) == 10 and max(sizes) <= 3


def test_all_versions_and_deletes(database):
    container = database.create_container(
        "versions", PartitionKey("/customer"), change_feed_policy={"retentionDuration": 10}
    )
    mode = "AllVersionsAndDeletes"
    list(container.query_items_change_feed(mode=mode))
    token = container.client_connection.last_response_headers["etag"]
    container.create_item({"id": "1", "customer": "ada", "n": 1})
    container.upsert_item({"id": "1", "customer": "ada", "n": 2})
    container.delete_item("1", partition_key="ada")
    seen = list(container.query_items_change_feed(mode=mode, continuation=token))
    assert [change["metadata"]["operationType"] for change in seen] == ["create", "replace", "delete"]
    assert [change["current"].get("n") for change in seen] == [1, 2, None]
