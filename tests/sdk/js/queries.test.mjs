// Queries over one key and over all of them.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { app, failure } from "./app.mjs";

let container;

before(async () => {
  container = await app.container({ throughput: 20000 });
  for (let n = 0; n < 60; n += 1) {
    await container.items.create({ id: String(n).padStart(2, "0"), customer: "k" + (n % 6), n, tags: ["t" + (n % 2)] });
  }
});

const ask = async (query, options) => (await container.items.query(query, options).fetchAll()).resources;

test("parameters and one key", async () => {
  const query = { query: "SELECT VALUE c.n FROM c WHERE c.n > @n", parameters: [{ name: "@n", value: 40 }] };
  assert.deepEqual(await ask(query, { partitionKey: "k1" }), [43, 49, 55]);
});

test("order, offset and limit over all keys", async () => {
  assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 3"), [57, 56, 55]);
  assert.deepEqual(await ask("SELECT TOP 2 VALUE c.id FROM c ORDER BY c.id"), ["00", "01"]);
});

test("aggregates and groups", async () => {
  assert.deepEqual(await ask("SELECT VALUE COUNT(1) FROM c"), [60]);
  assert.deepEqual(await ask("SELECT VALUE SUM(c.n) FROM c WHERE c.customer = 'k0'"), [270]);
  const groups = await ask("SELECT c.customer, COUNT(1) AS n FROM c GROUP BY c.customer");
  assert.equal(groups.length, 6);
  assert.ok(groups.every((group) => group.n === 10));
});

test("distinct values and joins", async () => {
  const tags = await ask("SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags");
  assert.deepEqual(tags.sort(), ["t0", "t1"]);
});

test("pages", async () => {
  const iterator = container.items.query("SELECT VALUE c.n FROM c", { partitionKey: "k3", maxItemCount: 4 });
  const sizes = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    if (resources?.length) sizes.push(resources.length);
  }
  assert.deepEqual(sizes, [4, 4, 2]);
});

test("a wrong query is refused", async () => {
  assert.equal((await failure(ask("SELECT * FROM c WHERE"))).code, 400);
});
