"""Transactional batches, and many items at once."""

import pytest
from azure.cosmos import exceptions


def test_a_batch_applies_all_of_its_operations(container):
    container.create_item({"id": "old", "customer": "ada", "n": 1})
    container.create_item({"id": "gone", "customer": "ada"})
    results = container.execute_item_batch(
        [
            ("create", ({"id": "new", "customer": "ada"},)),
            ("upsert", ({"id": "up", "customer": "ada"},)),
            ("replace", ("old", {"id": "old", "customer": "ada", "n": 2})),
            ("patch", ("old", [{"op": "incr", "path": "/n", "value": 3}])),
            ("read", ("old",)),
            ("delete", ("gone",)),
        ],
        partition_key="ada",
    )
    assert [result["statusCode"] for result in results] == [201, 201, 200, 200, 200, 204]
    assert results[4]["resourceBody"]["n"] == 5
    assert sorted(item["id"] for item in container.read_all_items()) == ["new", "old", "up"]


def test_a_failed_batch_changes_nothing(container):
    container.create_item({"id": "taken", "customer": "ada"})
    with pytest.raises(exceptions.CosmosBatchOperationError) as caught:
        container.execute_item_batch(
            [
                ("create", ({"id": "a", "customer": "ada"},)),
                ("create", ({"id": "taken", "customer": "ada"},)),
                ("create", ({"id": "b", "customer": "ada"},)),
            ],
            partition_key="ada",
        )
    assert caught.value.error_index == 1
    assert [result["statusCode"] for result in caught.value.operation_responses] == [424, 409, 424]
    assert [item["id"] for item in container.read_all_items()] == ["taken"]


def test_etags_within_a_batch(container):
    etag = container.create_item({"id": "1", "customer": "ada"})["_etag"]
    container.execute_item_batch(
        [("replace", ("1", {"id": "1", "customer": "ada", "n": 1}), {"if_match_etag": etag})],
        partition_key="ada",
    )
    with pytest.raises(exceptions.CosmosBatchOperationError) as caught:
        container.execute_item_batch(
            [("replace", ("1", {"id": "1", "customer": "ada", "n": 2}), {"if_match_etag": etag})],
            partition_key="ada",
        )
    assert caught.value.status_code == 412
    assert container.read_item("1", partition_key="ada")["n"] == 1


def test_read_many_keeps_the_order_of_the_question(container):
    wanted = []
    for number in range(40):
        key = f"customer-{number % 7}"
        container.create_item({"id": str(number), "customer": key})
        wanted.append((str(number), key))
    wanted.reverse()
    items = container.read_items(wanted + [("missing", "customer-1")])
    assert [item["id"] for item in items] == [id for id, _ in wanted]


def test_deleting_a_whole_logical_partition(container):
    for number in range(30):
        container.create_item({"id": str(number), "customer": "ada"})
    container.create_item({"id": "stays", "customer": "bob"})
    container.delete_all_items_by_partition_key("ada")
    left = list(container.query_items("SELECT VALUE c.id FROM c", enable_cross_partition_query=True))
    assert left == ["stays"]
