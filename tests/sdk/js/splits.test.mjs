// An application that goes on while its container's partitions split and merge: no error reaches
// it, queries see every item once and in order, the change feed tells every change once or more in
// the order of each key.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeFeedStartFrom, CosmosClient, StatusCodes } from "@azure/cosmos";
import { agent, app, endpoint, key } from "./app.mjs";
import { merge, ranges, split } from "./partitions.mjs";

const STABLE = 150;
const KEYS = 20;
const numbers = Array.from({ length: STABLE }, (_, n) => n);

async function filled() {
  const container = await app.container({ throughput: 400 });
  for (const n of numbers) await container.items.create({ id: "s" + n, customer: "c" + (n % KEYS), n });
  return container;
}

// The same container through a client of its own, with caches of its own.
function another(container) {
  const client = new CosmosClient({ endpoint, key, agent });
  return client.database(container.database.id).container(container.id);
}

async function all(iterator) {
  const rows = [];
  while (iterator.hasMoreResults()) rows.push(...((await iterator.fetchNext()).resources ?? []));
  return rows;
}

test("an application lives through splits and merges", async () => {
  const container = await filled();
  let going = true;
  const written = new Map();
  const told = new Map();

  async function write(own) {
    let count = 0;
    while (going) {
      count += 1;
      const id = "w" + (count % KEYS);
      await own.items.upsert({ id, customer: id, v: count });
      written.set(id, count);
      const { resource } = await own.item(id, id).read();
      assert.equal(resource.v, count);
    }
  }

  async function query(own) {
    while (going) {
      const text = "SELECT c.n FROM c WHERE IS_DEFINED(c.n) ORDER BY c.n";
      const ordered = await all(own.items.query(text, { maxItemCount: 7 }));
      assert.deepEqual(ordered.map((row) => row.n), numbers);
      const plain = await all(own.items.query("SELECT c.n FROM c WHERE IS_DEFINED(c.n)", { maxItemCount: 7 }));
      assert.deepEqual(plain.map((row) => row.n).sort((a, b) => a - b), numbers);
    }
  }

  async function follow(own) {
    const iterator = own.items.getChangeFeedIterator({
      maxItemCount: 9,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    });
    let quiet = 0;
    // Every range has to say that it has nothing new after the writers have stopped.
    while (quiet < 20) {
      const page = await iterator.readNext();
      quiet = !going && page.statusCode === StatusCodes.NotModified ? quiet + 1 : 0;
      for (const change of page.result ?? []) {
        if (change.v === undefined) continue;
        assert.ok(change.v >= (told.get(change.id) ?? 0), "in the order of the key");
        told.set(change.id, change.v);
      }
    }
  }

  const work = [write, query, follow].map((run) => run(another(container)).catch((error) => error));
  try {
    for (const count of [2, 4, 8]) {
      await split(container);
      assert.equal((await ranges(container)).length, count);
    }
    for (const count of [4, 2, 1]) {
      await merge(container);
      assert.equal((await ranges(container)).length, count);
    }
  } finally {
    going = false;
  }
  for (const outcome of await Promise.all(work)) if (outcome) throw outcome;
  assert.ok(written.size > 0);
  assert.deepEqual([...told].sort(), [...written].sort(), "the last change of every key was told");
  const counted = await all(another(container).items.query("SELECT VALUE COUNT(1) FROM c"));
  assert.deepEqual(counted, [STABLE + written.size]);
});
