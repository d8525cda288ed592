// Applications meet 429: the SDK's retries carry them through, and without retries they see it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { admin } from "./admin.mjs";
import { agent, app, endpoint, failure, key } from "./app.mjs";

// A container of 400 RU/s whose item costs 9.95 RU to read.
async function throttled() {
  const container = await app.container();
  await container.items.create({ id: "1", customer: "a", text: "x".repeat(100_000) });
  const link = `dbs/${container.database.id}/colls/${container.id}`;
  await admin("PUT", "/_orrery/throttle", { container: link, throttle: true });
  return { container, link };
}

test("retries carry an application through", async () => {
  const { container, link } = await throttled();
  const reads = await Promise.all(
    Array.from({ length: 120 }, () => container.item("1", "a").read()),
  );
  assert.equal(reads.filter((read) => read.resource?.id === "1").length, 120);
  const shown = await admin("GET", "/_orrery/throughput?seconds=60&top=1");
  const mine = shown.containers.find((one) => one.container === link);
  assert.ok(mine.ranges[0].refused > 0, "some were refused on the way");
});

test("without retries the refusal reaches the application", async () => {
  const { container } = await throttled();
  const retryOptions = { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 };
  const client = new CosmosClient({ endpoint, key, agent, connectionPolicy: { retryOptions } });
  const plain = client.database(container.database.id).container(container.id);
  const refused = await failure(
    Promise.all(Array.from({ length: 200 }, () => plain.item("1", "a").read())),
  );
  assert.equal(refused.code, 429);
  assert.equal(refused.substatus, 3200);
  assert.ok(refused.retryAfterInMs > 0);
  client.dispose();
});
