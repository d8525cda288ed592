"""Creating, reading, changing and deleting items."""

import pytest
from azure.core import MatchConditions
from azure.cosmos import exceptions


def test_life_of_an_item(container):
    created = container.create_item({"id": "1", "customer": "ada", "total": 12.5, "tags": ["a", "b"]})
    assert created["_rid"] and created["_etag"] and created["_ts"] > 1_600_000_000
    assert created["_self"].startswith("dbs/") and created["_attachments"] == "attachments/"

    read = container.read_item("1", partition_key="ada")
    assert read == created

    replaced = container.replace_item("1", {"id": "1", "customer": "ada", "total": 13})
    assert replaced["total"] == 13 and "tags" not in replaced
    assert replaced["_rid"] == created["_rid"] and replaced["_etag"] != created["_etag"]

    assert container.upsert_item({"id": "1", "customer": "ada", "total": 14})["total"] == 14
    assert container.upsert_item({"id": "2", "customer": "bob"})["id"] == "2"

    container.delete_item("1", partition_key="ada")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("1", partition_key="ada")
    assert [item["id"] for item in container.read_all_items()] == ["2"]


def test_values_come_back_as_they_went(container):
    values = {
        "id": "v",
        "customer": "ada",
        "whole": 9007199254740991,
        "negative": -17,
        "real": 0.1,
        "small": 5e-324,
        "large": 1.7976931348623157e308,
        "text": "naïve 日本 🎉 \" \\ / \b\f\n\r\t \u2028",
        "empty": "",
        "none": None,
        "yes": True,
        "no": False,
        "nested": {"a": [1, [2, {"b": []}]], "": {}},
    }
    container.create_item(values)
    read = container.read_item("v", partition_key="ada")
    assert {name: read[name] for name in values} == values


def test_the_same_id_conflicts_only_within_a_key(container):
    container.create_item({"id": "1", "customer": "ada"})
    container.create_item({"id": "1", "customer": "bob"})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "1", "customer": "ada"})


def test_etags_guard_against_lost_updates(container):
    first = container.create_item({"id": "1", "customer": "ada", "n": 1})
    second = container.replace_item(
        "1",
        {"id": "1", "customer": "ada", "n": 2},
        etag=first["_etag"],
        match_condition=MatchConditions.IfNotModified,
    )
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.replace_item(
            "1",
            {"id": "1", "customer": "ada", "n": 3},
            etag=first["_etag"],
            match_condition=MatchConditions.IfNotModified,
        )
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.delete_item(
            "1", partition_key="ada", etag=first["_etag"], match_condition=MatchConditions.IfNotModified
        )
    assert container.read_item("1", partition_key="ada")["_etag"] == second["_etag"]


def test_patch_changes_parts_of_an_item(container):
    container.create_item(
        {"id": "1", "customer": "ada", "count": 1, "list": [1, 3], "old": "x", "gone": True, "deep": {"a": 1}}
    )
    patched = container.patch_item(
        "1",
        partition_key="ada",
        patch_operations=[
            {"op": "add", "path": "/list/1", "value": 2},
            {"op": "add", "path": "/list/-", "value": 4},
            {"op": "set", "path": "/deep/b", "value": {"c": 2}},
            {"op": "replace", "path": "/deep/a", "value": 10},
            {"op": "remove", "path": "/gone"},
            {"op": "incr", "path": "/count", "value": 4},
            {"op": "move", "from": "/old", "path": "/new"},
        ],
    )
    assert patched["list"] == [1, 2, 3, 4]
    assert patched["deep"] == {"a": 10, "b": {"c": 2}}
    assert patched["count"] == 5 and patched["new"] == "x"
    assert "gone" not in patched and "old" not in patched

    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.patch_item(
            "1",
            partition_key="ada",
            patch_operations=[{"op": "set", "path": "/count", "value": 0}],
            filter_predicate="FROM c WHERE c.count > 100",
        )
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.patch_item(
            "1", partition_key="ada", patch_operations=[{"op": "replace", "path": "/missing", "value": 0}]
        )
    assert caught.value.status_code == 400
    assert container.read_item("1", partition_key="ada")["count"] == 5


def test_the_key_of_an_item_is_fixed(container):
    container.create_item({"id": "1", "customer": "ada"})
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.patch_item(
            "1", partition_key="ada", patch_operations=[{"op": "set", "path": "/customer", "value": "bob"}]
        )
    assert caught.value.status_code == 400
    assert container.read_item("1", partition_key="ada")["customer"] == "ada"


def test_writes_without_a_body_in_the_answer(container):
    answer = container.create_item({"id": "1", "customer": "ada"}, no_response=True)
    assert not answer
    assert container.read_item("1", partition_key="ada")["id"] == "1"


def test_every_answer_states_its_charge(container):
    created = container.create_item({"id": "1", "customer": "ada"})
    read = container.read_item("1", partition_key="ada")
    write_charge = float(created.get_response_headers()["x-ms-request-charge"])
    read_charge = float(read.get_response_headers()["x-ms-request-charge"])
    assert read_charge == 1.0
    assert write_charge > 4 * read_charge


def test_items_over_two_megabytes_are_refused(container):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.create_item({"id": "big", "customer": "ada", "text": "x" * (2 * 1024 * 1024)})
    assert caught.value.status_code == 413
    assert list(container.read_all_items()) == []


def test_bad_bodies_are_refused(container):
    for body in [{"id": "", "customer": "a"}, {"id": "a/b", "customer": "a"}, {"id": 5, "customer": "a"}]:
        with pytest.raises((exceptions.CosmosHttpResponseError, TypeError, ValueError)):
            container.create_item(body)
    assert list(container.read_all_items()) == []
