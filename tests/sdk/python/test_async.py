"""The asynchronous client: many writers at once, then queries."""

import asyncio
import uuid

from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient

from conftest import ENDPOINT, KEY


async def application():
    async with CosmosClient(ENDPOINT, KEY, connection_verify=False) as client:
        database = await client.create_database("async-" + uuid.uuid4().hex)
        try:
            container = await database.create_container("bulk", PartitionKey("/k"), offer_throughput=20000)

            async def write(part):
                for number in range(25):
                    await container.upsert_item({"id": f"{part}-{number}", "k": f"k{part}", "n": number})

            await asyncio.gather(*(write(part) for part in range(16)))
            counts = [row async for row in container.query_items("SELECT VALUE COUNT(1) FROM c")]
            one = [row async for row in container.query_items(
                "SELECT VALUE SUM(c.n) FROM c", partition_key="k3")]
            feed = [item["id"] async for item in container.query_items_change_feed(start_time="Beginning")]
            return counts, one, feed
        finally:
            await client.delete_database(database.id)


def test_concurrent_writers():
    counts, one, feed = asyncio.run(application())
    assert counts == [400]
    assert one == [sum(range(25))]
    assert len(feed) == len(set(feed)) == 400
