"""What azure-cosmos makes of 410/1002 (docs/decisions/splits.md): no test, but the way to see it.

Start `orrery serve --strict-splits`, then run this file; without the switch every row comes once.
"""

import uuid
from collections import Counter

from azure.cosmos import CosmosClient, PartitionKey

import partitions
from conftest import ENDPOINT, KEY

ITEMS = 100
QUERY = "SELECT VALUE c.n FROM c ORDER BY c.n"


def show(what, rows):
    times = dict(sorted(Counter(Counter(rows).values()).items()))
    print(f"{what}: {len(rows)} rows of {ITEMS} items; rows by how often they came: {times}; "
          f"missing: {ITEMS - len(set(rows))}; in order: {rows == sorted(rows)}")


def main():
    client = CosmosClient(ENDPOINT, KEY, connection_verify=False)
    database = client.create_database("replay-" + uuid.uuid4().hex)
    container = database.create_container("c", PartitionKey("/customer"))
    for n in range(ITEMS):
        container.create_item({"id": str(n), "customer": f"c{n % 20}", "n": n})
    partitions.split(container)
    first, second = partitions.ranges(container)
    show("two ranges at rest", list(container.query_items(QUERY, enable_cross_partition_query=True)))
    partitions.change(container, {"split": {"range": first}})
    show("the first has split since", list(container.query_items(QUERY, enable_cross_partition_query=True)))
    rows = iter(container.query_items(QUERY, enable_cross_partition_query=True, max_item_count=5))
    begun = [next(rows) for _ in range(60)]
    partitions.change(container, {"split": {"range": second}})
    show("the second splits between its pages", begun + list(rows))
    client.delete_database(database)


if __name__ == "__main__":
    main()
