"""What every sample application gets: a client, and a database of its own.

`cargo xtask test` sets ORRERY_ENDPOINT (once http, once https) and ORRERY_KEY.
"""

import os
import uuid

import pytest
from azure.cosmos import CosmosClient, PartitionKey

ENDPOINT = os.environ.get("ORRERY_ENDPOINT", "http://localhost:8081")
KEY = os.environ.get(
    "ORRERY_KEY",
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
)


@pytest.fixture(scope="session")
def client():
    with CosmosClient(ENDPOINT, KEY, connection_verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def database(client):
    database = client.create_database("app-" + uuid.uuid4().hex)
    yield database
    client.delete_database(database)


@pytest.fixture
def container(database):
    container = database.create_container("c-" + uuid.uuid4().hex, PartitionKey("/customer"))
    yield container
    database.delete_container(container)
