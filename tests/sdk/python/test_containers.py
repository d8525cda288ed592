"""Containers and their settings: keys, unique keys, time to live, throughput, access."""

import time
import uuid

import pytest
from azure.cosmos import CosmosClient, PartitionKey, ThroughputProperties, exceptions

from conftest import ENDPOINT


def test_databases_and_containers_are_listed(client, database):
    container = database.create_container("listed", PartitionKey("/a"))
    assert database.id in [d["id"] for d in client.list_databases()]
    assert "listed" in [c["id"] for c in database.list_containers()]
    with pytest.raises(exceptions.CosmosResourceExistsError):
        database.create_container("listed", PartitionKey("/a"))
    assert database.create_container_if_not_exists("listed", PartitionKey("/a")).id == "listed"
    database.delete_container(container)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read()


def test_hierarchical_keys(database):
    container = database.create_container(
        "tree", PartitionKey(path=["/tenant", "/user", "/session"], kind="MultiHash"), offer_throughput=20000
    )
    for tenant in "ab":
        for user in "xy":
            for session in range(3):
                container.create_item(
                    {"id": f"{tenant}{user}{session}", "tenant": tenant, "user": user, "session": session}
                )
    assert container.read_item("ax1", partition_key=["a", "x", 1])["session"] == 1
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("ax1", partition_key=["a", "x", 2])
    of_tenant = container.query_items("SELECT VALUE c.id FROM c", partition_key=["a"])
    assert sorted(of_tenant) == ["ax0", "ax1", "ax2", "ay0", "ay1", "ay2"]
    of_user = container.query_items("SELECT VALUE c.id FROM c", partition_key=["b", "y"])
    assert sorted(of_user) == ["by0", "by1", "by2"]
    everything = container.query_items(
        "SELECT VALUE c.id FROM c WHERE c.tenant = 'b' AND c.user = 'x'", enable_cross_partition_query=True
    )
    assert sorted(everything) == ["bx0", "bx1", "bx2"]


def test_items_without_a_key_value(database):
    container = database.create_container("keyless", PartitionKey("/maybe"))
    container.create_item({"id": "none"})
    container.create_item({"id": "null", "maybe": None})
    from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

    assert container.read_item("none", partition_key=NonePartitionKeyValue)["id"] == "none"
    assert container.read_item("null", partition_key=NullPartitionKeyValue)["id"] == "null"
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("null", partition_key=NonePartitionKeyValue)


def test_unique_keys(database):
    container = database.create_container(
        "unique", PartitionKey("/team"), unique_key_policy={"uniqueKeys": [{"paths": ["/email", "/year"]}]}
    )
    container.create_item({"id": "1", "team": "a", "email": "x@y.z", "year": 1})
    container.create_item({"id": "2", "team": "a", "email": "x@y.z", "year": 2})
    container.create_item({"id": "3", "team": "b", "email": "x@y.z", "year": 1})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "4", "team": "a", "email": "x@y.z", "year": 1})
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.upsert_item({"id": "2", "team": "a", "email": "x@y.z", "year": 1})
    assert caught.value.status_code == 409
    container.delete_item("1", partition_key="a")
    container.create_item({"id": "4", "team": "a", "email": "x@y.z", "year": 1})


def test_time_to_live(database):
    container = database.create_container("ttl", PartitionKey("/k"), default_ttl=1)
    container.create_item({"id": "short", "k": 1})
    container.create_item({"id": "long", "k": 1, "ttl": 3600})
    container.create_item({"id": "forever", "k": 1, "ttl": -1})
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [item["id"] for item in container.read_all_items()]
        if "short" not in found:
            break
        time.sleep(0.2)
    assert found == ["long", "forever"]
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("short", partition_key=1)
    assert container.create_item({"id": "short", "k": 1})["id"] == "short"


def test_throughput(database):
    container = database.create_container("manual", PartitionKey("/k"), offer_throughput=400)
    assert container.get_throughput().offer_throughput == 400
    container.replace_throughput(1000)
    assert container.get_throughput().offer_throughput == 1000
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.replace_throughput(150)
    assert caught.value.status_code == 400

    scaled = database.create_container(
        "scaled", PartitionKey("/k"), offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000)
    )
    assert scaled.get_throughput().auto_scale_max_throughput == 4000


def test_an_indexing_policy_is_kept(database):
    policy = {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/name/?"}],
        "excludedPaths": [{"path": "/*"}],
        "compositeIndexes": [
            [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]
        ],
    }
    container = database.create_container("indexed", PartitionKey("/k"), indexing_policy=policy)
    kept = container.read()["indexingPolicy"]
    assert kept["includedPaths"] == [{"path": "/name/?"}]
    assert {"path": "/*"} in kept["excludedPaths"]
    assert kept["compositeIndexes"] == policy["compositeIndexes"]


def test_users_get_no_more_than_their_permission(client, database):
    container = database.create_container("guarded", PartitionKey("/k"))
    container.create_item({"id": "1", "k": "a"})
    user = database.create_user({"id": "reader-" + uuid.uuid4().hex})
    permission = user.create_permission(
        {"id": "read", "permissionMode": "Read", "resource": container.read()["_self"]}
    )
    token = permission.properties["_token"]
    link = "dbs/" + database.id + "/colls/" + container.id
    with CosmosClient(ENDPOINT, {link: token}, connection_verify=False) as restricted:
        view = restricted.get_database_client(database.id).get_container_client(container.id)
        assert view.read_item("1", partition_key="a")["id"] == "1"
        assert [item["id"] for item in view.query_items("SELECT * FROM c", partition_key="a")] == ["1"]
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            view.create_item({"id": "2", "k": "a"})
        assert caught.value.status_code == 403
    assert [p["id"] for p in user.list_permissions()] == ["read"]
    user.delete_permission("read")


def test_a_wrong_key_is_refused():
    wrong = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc="
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        CosmosClient(ENDPOINT, wrong, connection_verify=False)
    assert caught.value.status_code == 401
