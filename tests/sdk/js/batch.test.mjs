// Transactional batches and bulk operations.

import assert from "node:assert/strict";
import { test } from "node:test";
import { app } from "./app.mjs";

test("a batch applies all of its operations", async () => {
  const container = await app.container();
  await container.items.create({ id: "gone", customer: "ada" });
  const { result, code } = await container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "1", customer: "ada", n: 1 } },
      { operationType: "Upsert", resourceBody: { id: "2", customer: "ada" } },
      { operationType: "Replace", id: "1", resourceBody: { id: "1", customer: "ada", n: 2 } },
      { operationType: "Patch", id: "1", resourceBody: { operations: [{ op: "incr", path: "/n", value: 5 }] } },
      { operationType: "Read", id: "1" },
      { operationType: "Delete", id: "gone" },
    ],
    "ada",
  );
  assert.equal(code, 200);
  assert.deepEqual(result.map((answer) => answer.statusCode), [201, 201, 200, 200, 200, 204]);
  assert.equal(result[4].resourceBody.n, 7);
});

test("a failed batch changes nothing", async () => {
  const container = await app.container();
  await container.items.create({ id: "taken", customer: "ada" });
  const { result, code } = await container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "a", customer: "ada" } },
      { operationType: "Create", resourceBody: { id: "taken", customer: "ada" } },
    ],
    "ada",
  );
  assert.equal(code, 207);
  assert.deepEqual(result.map((answer) => answer.statusCode), [424, 409]);
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 1);
});

test("bulk operations over many keys and ranges", async () => {
  const container = await app.container({ throughput: 20000 });
  const operations = Array.from({ length: 250 }, (_, n) => ({
    operationType: "Create",
    resourceBody: { id: String(n), customer: "k" + (n % 17), n },
    partitionKey: "k" + (n % 17),
  }));
  const answers = await container.items.executeBulkOperations(operations);
  assert.equal(answers.length, 250);
  assert.ok(answers.every((answer) => answer.response?.statusCode === 201));
  assert.equal((await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources[0], 250);

  const again = await container.items.executeBulkOperations([
    operations[0],
    { operationType: "Delete", id: "1", partitionKey: "k1" },
    { operationType: "Patch", id: "2", partitionKey: "k2", resourceBody: { operations: [{ op: "incr", path: "/n", value: 40 }] } },
  ]);
  assert.equal(again[0].error?.code ?? again[0].response?.statusCode, 409);
  assert.equal(again[1].response?.statusCode, 204);
  assert.equal(again[2].response?.statusCode, 200);
  assert.equal((await container.item("2", "k2").read()).resource.n, 42);
});
