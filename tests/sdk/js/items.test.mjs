// Creating, reading, changing and deleting items.

import assert from "node:assert/strict";
import { test } from "node:test";
import { app, failure } from "./app.mjs";

test("the life of an item", async () => {
  const container = await app.container();
  const { resource: created, statusCode, requestCharge, etag } = await container.items.create({
    id: "1",
    customer: "ada",
    total: 12.5,
  });
  assert.equal(statusCode, 201);
  assert.ok(requestCharge > 0);
  assert.equal(created._etag, etag);

  const { resource: read } = await container.item("1", "ada").read();
  assert.deepEqual(read, created);

  const { resource: replaced } = await container.item("1", "ada").replace({ id: "1", customer: "ada", total: 13 });
  assert.equal(replaced.total, 13);

  const upserted = await container.items.upsert({ id: "1", customer: "ada", total: 14 });
  assert.equal(upserted.statusCode, 200);
  assert.equal((await container.items.upsert({ id: "2", customer: "bob" })).statusCode, 201);

  assert.equal((await container.item("1", "ada").delete()).statusCode, 204);
  const gone = await container.item("1", "ada").read();
  assert.equal(gone.statusCode, 404);
  assert.equal(gone.resource, undefined);
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 1);
});

test("an id is made up when there is none", async () => {
  const container = await app.container();
  const { resource } = await container.items.create({ customer: "ada" });
  assert.match(resource.id, /^[0-9a-f-]{36}$/);
});

test("conflicts, etags and conditions", async () => {
  const container = await app.container();
  const { resource } = await container.items.create({ id: "1", customer: "ada", n: 1 });
  assert.equal((await failure(container.items.create({ id: "1", customer: "ada" }))).code, 409);

  const condition = { accessCondition: { type: "IfMatch", condition: resource._etag } };
  await container.item("1", "ada").replace({ id: "1", customer: "ada", n: 2 }, condition);
  const late = await failure(container.item("1", "ada").replace({ id: "1", customer: "ada", n: 3 }, condition));
  assert.equal(late.code, 412);
  assert.equal((await container.item("1", "ada").read()).resource.n, 2);
});

test("a read with the current etag has nothing to say", async () => {
  const container = await app.container();
  const { etag } = await container.items.create({ id: "1", customer: "ada" });
  const answer = await container
    .item("1", "ada")
    .read({ accessCondition: { type: "IfNoneMatch", condition: etag } });
  assert.equal(answer.statusCode, 304);
});

test("patch", async () => {
  const container = await app.container();
  await container.items.create({ id: "1", customer: "ada", count: 1, list: [1, 3], gone: true });
  const { resource } = await container.item("1", "ada").patch([
    { op: "add", path: "/list/1", value: 2 },
    { op: "remove", path: "/gone" },
    { op: "incr", path: "/count", value: 2 },
    { op: "set", path: "/name", value: "x" },
  ]);
  assert.deepEqual(resource.list, [1, 2, 3]);
  assert.equal(resource.count, 3);
  assert.equal(resource.name, "x");
  assert.equal("gone" in resource, false);

  const refused = await failure(
    container.item("1", "ada").patch({
      condition: "FROM c WHERE c.count = 0",
      operations: [{ op: "incr", path: "/count", value: 1 }],
    }),
  );
  assert.equal(refused.code, 412);
});
