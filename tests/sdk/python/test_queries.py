"""Queries as an application writes them: over one key and over all of them."""

import pytest
from azure.cosmos import PartitionKey, exceptions

CITIES = ["Lisbon", "Oslo", "Quito", "Osaka", "Accra"]


@pytest.fixture(scope="module")
def orders(database):
    container = database.create_container("orders", PartitionKey("/city"), offer_throughput=20000)
    for number in range(100):
        container.create_item(
            {
                "id": f"o{number:03}",
                "city": CITIES[number % 5],
                "amount": number * 1.5,
                "paid": number % 3 == 0,
                "lines": [{"sku": f"s{line}", "count": line} for line in range(number % 4)],
            }
        )
    return container


def ask(container, text, **options):
    return list(container.query_items(text, enable_cross_partition_query=True, **options))


def test_this_container_has_several_ranges(orders):
    assert len(list(orders.read_feed_ranges())) > 1


def test_filters_over_one_key(orders):
    found = list(
        orders.query_items(
            "SELECT VALUE o.id FROM orders o WHERE o.amount > @least AND o.paid = true",
            parameters=[{"name": "@least", "value": 90}],
            partition_key="Oslo",
        )
    )
    assert found == [f"o{n:03}" for n in range(100) if n % 5 == 1 and n * 1.5 > 90 and n % 3 == 0]


def test_order_over_all_keys(orders):
    found = ask(orders, "SELECT VALUE o.id FROM o WHERE o.amount >= 30 ORDER BY o.amount DESC")
    assert found == [f"o{n:03}" for n in range(99, 19, -1)]


def test_pages_with_continuation_tokens(orders):
    seen, token = [], None
    while True:
        pages = orders.query_items(
            "SELECT VALUE o.id FROM o", partition_key="Quito", max_item_count=7
        ).by_page(token)
        page = list(next(pages))
        assert len(page) <= 7
        seen += page
        token = pages.continuation_token
        if not token:
            break
    assert seen == [f"o{n:03}" for n in range(100) if n % 5 == 2]


def test_top_offset_and_limit(orders):
    assert ask(orders, "SELECT TOP 3 VALUE o.id FROM o ORDER BY o.id") == ["o000", "o001", "o002"]
    assert ask(orders, "SELECT VALUE o.id FROM o ORDER BY o.id OFFSET 10 LIMIT 2") == ["o010", "o011"]


def test_aggregates(orders):
    assert ask(orders, "SELECT VALUE COUNT(1) FROM o") == [100]
    assert ask(orders, "SELECT VALUE SUM(o.amount) FROM o") == [sum(n * 1.5 for n in range(100))]
    assert ask(orders, "SELECT VALUE MIN(o.amount) FROM o WHERE o.amount > 3") == [4.5]
    assert ask(orders, "SELECT VALUE MAX(o.amount) FROM o") == [148.5]
    assert ask(orders, "SELECT VALUE AVG(o.amount) FROM o WHERE o.city = 'Oslo'") == [
        sum(n * 1.5 for n in range(100) if n % 5 == 1) / 20
    ]


def test_groups_of_one_key(orders):
    found = list(
        orders.query_items(
            "SELECT o.paid, COUNT(1) AS n FROM o GROUP BY o.paid", partition_key="Lisbon"
        )
    )
    assert sorted((row["paid"], row["n"]) for row in found) == [(False, 13), (True, 7)]


def test_distinct_values(orders):
    assert sorted(ask(orders, "SELECT DISTINCT VALUE o.city FROM o")) == sorted(CITIES)


def test_joins_with_the_lists_of_an_item(orders):
    found = ask(orders, "SELECT o.id, l.sku FROM o JOIN l IN o.lines WHERE l.count = 2 AND o.amount < 12")
    assert sorted((row["id"], row["sku"]) for row in found) == [("o003", "s2"), ("o007", "s2")]


def test_functions(orders):
    text = (
        "SELECT VALUE { low: LOWER(o.city), start: STARTSWITH(o.city, 'Os'), n: ARRAY_LENGTH(o.lines), "
        "has: IS_DEFINED(o.nothing) } FROM o WHERE o.id = 'o006'"
    )
    assert ask(orders, text) == [{"low": "oslo", "start": True, "n": 2, "has": False}]
    assert sorted(set(ask(orders, "SELECT VALUE o.city FROM o WHERE o.city LIKE 'Os%'"))) == ["Osaka", "Oslo"]
    assert ask(orders, "SELECT VALUE o.id FROM o WHERE o.id IN ('o001', 'o002', 'x')") != []
    assert len(ask(orders, "SELECT * FROM o WHERE o.amount BETWEEN 10 AND 20")) == 7


def test_a_wrong_query_is_refused_with_its_place(orders):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        ask(orders, "SELECT * FROM o WHERE")
    assert caught.value.status_code == 400
    assert "SC1001" in caught.value.message


def test_feed_ranges_divide_the_items(orders):
    parts = [
        {item["id"] for item in orders.query_items("SELECT * FROM c", feed_range=part)}
        for part in orders.read_feed_ranges()
    ]
    assert sum(len(part) for part in parts) == 100
    assert len(set().union(*parts)) == 100


def test_queries_over_containers_and_databases(client, database, orders):
    names = [c["id"] for c in database.query_containers("SELECT * FROM c WHERE c.id = 'orders'")]
    assert names == ["orders"]
    found = client.query_databases(
        "SELECT * FROM d WHERE d.id = @id", parameters=[{"name": "@id", "value": database.id}]
    )
    assert [d["id"] for d in found] == [database.id]
