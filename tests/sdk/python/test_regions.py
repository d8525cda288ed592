"""An account of several regions: reads near by, consistency levels, a failover under way."""

import os
import subprocess
import time
import uuid

import pytest
from azure.cosmos import CosmosClient, PartitionKey, documents
from azure.cosmos._retry_options import RetryOptions
from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceNotFoundError

from conftest import KEY

BINARY = os.environ.get("ORRERY_BINARY", "orrery")


class Account:
    """A server of two regions of its own."""

    def __init__(self, *options):
        command = [BINARY, "serve", "--in-memory", "--port", "0", "--health-port", "0"]
        command += ["--regions", "East US,West US", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("Endpoint"):
                self.endpoint = line.split()[1]
            if line.startswith("Now listening on"):
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)

    def client(self, *preferred, **options):
        return CosmosClient(
            self.endpoint, KEY, preferred_locations=list(preferred), connection_verify=False, **options
        )

    def regions(self, *arguments):
        command = [BINARY, "regions", *arguments, "--endpoint", self.endpoint]
        subprocess.run(command, check=True, capture_output=True, timeout=60)


def new_container(client):
    database = client.create_database("regions-" + uuid.uuid4().hex)
    return database.create_container("c", PartitionKey("/customer"))


def same(client, container):
    """The container as another client sees it."""
    database, name = container.container_link.split("/")[1::2]
    return client.get_database_client(database).get_container_client(name)


def where(container):
    """Where reads go."""
    seen = []
    hook = lambda headers, _: seen.append(headers["Content-Location"])
    container.read_item("1", "c", response_hook=hook)
    return seen[0]


def versions(container, seconds, until):
    """The versions that are read one after the other, until one of them comes."""
    found = []
    end = time.time() + seconds
    while time.time() < end:
        try:
            found.append(container.read_item("1", "c")["version"])
        except CosmosResourceNotFoundError:
            assert not found, "what was seen is gone"
        if found and found[-1] == until:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{until} does not come: {found[-5:]}")


def item(version):
    return {"id": "1", "customer": "c", "version": version}


def test_a_client_reads_where_it_prefers_and_writes_where_it_must():
    with Account("--replication-lag", "0s") as account:
        client = account.client("West US")
        container = new_container(client)
        container.create_item(item(1))
        versions(container, 10, 1)
        west = where(container)
        east = where(same(account.client("East US"), container))
        assert west != east
        names = [one["name"] for one in client.get_database_account()._ReadableLocations]
        assert names == ["East US", "West US"]


def test_eventual_reads_are_stale_and_sessions_are_not():
    with Account("--replication-lag", "100ms") as account:
        writer = account.client("East US")
        container = new_container(writer)
        container.create_item(item(1))
        eventual = same(account.client("West US", consistency_level="Eventual"), container)
        versions(eventual, 20, 1)
        account.regions("pause", "West US")
        container.upsert_item(item(2))
        assert eventual.read_item("1", "c")["version"] == 1
        # Its own writes a session finds where they are, at the latest in the write region.
        session = same(account.client("West US"), container)
        session.upsert_item(item(3))
        assert session.read_item("1", "c")["version"] == 3
        account.regions("resume", "West US")
        found = versions(eventual, 20, 3)
        assert found == sorted(found), "versions never go back"


def test_strong_reads_are_never_stale():
    with Account("--replication-lag", "5s", "--consistency", "strong") as account:
        container = new_container(account.client("East US"))
        reader = same(account.client("West US"), container)
        for version in range(20):
            container.upsert_item(item(version))
            assert reader.read_item("1", "c")["version"] == version


@pytest.mark.parametrize("level", ["bounded-staleness", "consistent-prefix"])
def test_weaker_levels_come_after_in_order(level):
    with Account("--replication-lag", "300ms", "--consistency", level) as account:
        container = new_container(account.client("East US"))
        container.create_item(item(0))
        reader = same(account.client("West US"), container)
        versions(reader, 20, 0)
        for version in range(1, 6):
            container.upsert_item(item(version))
        found = versions(reader, 20, 5)
        assert found == sorted(found)


def test_a_failover_is_followed():
    with Account("--replication-lag", "50ms") as account:
        client = account.client()
        container = new_container(client)
        container.create_item(item(0))
        account.regions("failover", "West US")
        for version in range(1, 10):
            container.upsert_item(item(version))
        assert container.read_item("1", "c")["version"] == 9
        account.regions("failover", "East US")
        container.upsert_item(item(10))
        versions(same(account.client("West US"), container), 20, 10)


def test_a_read_region_refuses_writes():
    with Account() as account:
        # Without discovery the client stays at the endpoint that it was given.
        client = account.client()
        container = new_container(client)
        locations = client.get_database_account()._ReadableLocations
        west = [one["databaseAccountEndpoint"] for one in locations if one["name"] == "West US"][0]
        stubborn = CosmosClient(west, KEY, enable_endpoint_discovery=False, connection_verify=False)
        with pytest.raises(CosmosHttpResponseError) as refused:
            same(stubborn, container).create_item(item(1))
        assert (refused.value.status_code, refused.value.sub_status) == (403, 3)


def test_each_region_refuses_by_its_own_budget():
    with Account("--throttle", "on", "--replication-lag", "0s") as account:
        container = new_container(account.client("East US"))
        # 9.95 RU to read: 40 reads a second are the budget of 400 RU/s.
        container.create_item({**item(1), "text": "x" * 100_000})

        def reader(region):
            policy = documents.ConnectionPolicy()
            policy.RetryOptions = RetryOptions(max_retry_attempt_count=0)
            policy.DisableSSLVerification = True
            return same(account.client(region, connection_policy=policy), container)

        west, east = reader("West US"), reader("East US")
        versions(west, 20, 1)
        until = time.time() + 30
        with pytest.raises(CosmosHttpResponseError) as refused:
            while time.time() < until:
                west.read_item("1", "c")
        assert (refused.value.status_code, refused.value.sub_status) == (429, 3200)
        for _ in range(10):
            assert east.read_item("1", "c")["version"] == 1
