// The change feed: the pull iterator, and a processor that keeps its place in leases.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ChangeFeedMode,
  ChangeFeedPolicy,
  ChangeFeedRetentionTimeSpan,
  ChangeFeedStartFrom,
  StatusCodes,
} from "@azure/cosmos";
import { app } from "./app.mjs";

// Reads until the feed says that there is nothing new.
async function drain(iterator) {
  const changes = [];
  let token;
  for await (const page of iterator.getAsyncIterator()) {
    token = page.continuationToken;
    if (page.statusCode === StatusCodes.NotModified) break;
    changes.push(...page.result);
  }
  return { changes, token };
}

test("from the beginning, then from where it stopped", async () => {
  const container = await app.container();
  for (const id of ["1", "2", "3"]) await container.items.create({ id, customer: "ada" });
  const start = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning("ada") };
  const first = await drain(container.items.getChangeFeedIterator(start));
  assert.deepEqual(first.changes.map((item) => item.id), ["1", "2", "3"]);

  await container.items.upsert({ id: "2", customer: "ada", n: 1 });
  const next = await drain(
    container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(first.token) }),
  );
  assert.deepEqual(next.changes.map((item) => item.id), ["2"]);
});

test("over the whole container, a page at a time", async () => {
  const container = await app.container({ throughput: 20000 });
  for (let n = 0; n < 40; n += 1) await container.items.create({ id: String(n), customer: "k" + (n % 5) });
  const { changes } = await drain(
    container.items.getChangeFeedIterator({
      maxItemCount: 7,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    }),
  );
  assert.equal(new Set(changes.map((item) => item.id)).size, 40);
});

test("all versions and deletes", async () => {
  const container = await app.container({
    changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)),
  });
  const options = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
  const { token } = await drain(
    container.items.getChangeFeedIterator({ ...options, changeFeedStartFrom: ChangeFeedStartFrom.Now() }),
  );
  await container.items.create({ id: "1", customer: "ada", n: 1 });
  await container.items.upsert({ id: "1", customer: "ada", n: 2 });
  await container.item("1", "ada").delete();
  const { changes } = await drain(
    container.items.getChangeFeedIterator({ ...options, changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) }),
  );
  assert.deepEqual(changes.map((change) => change.metadata.operationType), ["create", "replace", "delete"]);
});

// One instance of a processor: takes leases that nobody holds, handles the changes of their
// ranges, and stores how far it came; an etag keeps two instances from holding the same lease.
class Processor {
  constructor(name, container, leases, handle) {
    Object.assign(this, { name, container, leases, handle });
  }

  async prepare() {
    this.ranges = await this.container.getFeedRanges();
    for (const number of this.ranges.keys()) {
      await this.leases.items
        .create({ id: "lease-" + number, customer: "leases", number, owner: null, token: null })
        .catch((error) => assert.equal(error.code, 409));
    }
  }

  async round(most) {
    const { resources } = await this.leases.items.query("SELECT * FROM c WHERE c.owner = null").fetchAll();
    for (const lease of resources.slice(0, most)) {
      const held = await this.store(lease, { owner: this.name });
      if (!held) continue;
      const from = held.token
        ? ChangeFeedStartFrom.Continuation(held.token)
        : ChangeFeedStartFrom.Beginning(this.ranges[held.number]);
      const { changes, token } = await drain(
        this.container.items.getChangeFeedIterator({ changeFeedStartFrom: from }),
      );
      for (const change of changes) this.handle(change);
      await this.store(held, { owner: null, token });
    }
  }

  async store(lease, change) {
    try {
      const condition = { accessCondition: { type: "IfMatch", condition: lease._etag } };
      const { resource } = await this.leases.item(lease.id, "leases").replace({ ...lease, ...change }, condition);
      return resource;
    } catch (error) {
      assert.equal(error.code, 412);
      return undefined;
    }
  }
}

test("two processors share the ranges by leases and see every change once", async () => {
  const container = await app.container({ throughput: 20000 });
  const leases = await app.container();
  const seen = [];
  const processors = ["first", "second"].map((name) => new Processor(name, container, leases, (item) => seen.push(item.id)));
  await processors[0].prepare();
  await processors[1].prepare();
  for (let n = 0; n < 30; n += 1) await container.items.create({ id: String(n), customer: "k" + n });
  await Promise.all(processors.map((processor) => processor.round(1)));
  for (let n = 30; n < 50; n += 1) await container.items.create({ id: String(n), customer: "k" + n });
  await processors[1].round(Infinity);
  assert.equal(seen.length, 50);
  assert.equal(new Set(seen).size, 50);
});
