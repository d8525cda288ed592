// Containers: hierarchical keys, unique keys, throughput, users and resource tokens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CosmosClient, PartitionKeyDefinitionVersion, PartitionKeyKind } from "@azure/cosmos";
import { agent, app, client, endpoint, failure } from "./app.mjs";

test("hierarchical keys", async () => {
  const container = await app.container({
    throughput: 20000,
    partitionKey: {
      paths: ["/tenant", "/user"],
      kind: PartitionKeyKind.MultiHash,
      version: PartitionKeyDefinitionVersion.V2,
    },
  });
  for (const tenant of ["a", "b"]) {
    for (const user of ["x", "y"]) {
      await container.items.create({ id: tenant + user, tenant, user });
    }
  }
  assert.equal((await container.item("ax", ["a", "x"]).read()).resource.user, "x");
  const { resources } = await container.items
    .query("SELECT VALUE c.id FROM c", { partitionKey: ["a"] })
    .fetchAll();
  assert.deepEqual(resources.sort(), ["ax", "ay"]);
});

test("unique keys", async () => {
  const container = await app.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
  await container.items.create({ id: "1", customer: "a", email: "x" });
  await container.items.create({ id: "2", customer: "b", email: "x" });
  assert.equal((await failure(container.items.create({ id: "3", customer: "a", email: "x" }))).code, 409);
});

test("throughput", async () => {
  const container = await app.container({ throughput: 400 });
  const { resource } = await container.readOffer();
  assert.equal(resource.content.offerThroughput, 400);
  resource.content.offerThroughput = 800;
  const { offer } = await container.readOffer();
  assert.equal((await offer.replace(resource)).resource.content.offerThroughput, 800);
});

test("a container is read, replaced and deleted", async () => {
  const container = await app.container();
  const { resource } = await container.read();
  assert.equal(resource.indexingPolicy.indexingMode, "consistent");
  resource.defaultTtl = 1000;
  assert.equal((await container.replace(resource)).resource.defaultTtl, 1000);
  assert.equal((await container.delete()).statusCode, 204);
  assert.equal((await failure(container.read())).code, 404);
});

test("a resource token opens what its permission names, and no more", async () => {
  const container = await app.container();
  await container.items.create({ id: "1", customer: "ada" });
  const database = await app.database();
  const { user } = await database.users.create({ id: "reader" });
  const { resource } = await user.permissions.create({
    id: "read",
    permissionMode: "read",
    resource: container.url,
  });
  const restricted = new CosmosClient({ endpoint, agent, resourceTokens: { [container.url]: resource._token } });
  const view = restricted.database(database.id).container(container.id);
  assert.equal((await view.item("1", "ada").read()).resource.id, "1");
  assert.equal((await failure(view.items.create({ id: "2", customer: "ada" }))).code, 403);
  restricted.dispose();
});

test("a wrong key is refused", async () => {
  const stranger = new CosmosClient({ endpoint, key: Buffer.alloc(64, 7).toString("base64"), agent });
  assert.equal((await failure(stranger.databases.readAll().fetchAll())).code, 401);
  stranger.dispose();
  assert.ok((await client.getDatabaseAccount()).resource);
});
