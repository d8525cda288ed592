// Applications meet 429: the SDK's retries carry them through, and without retries they see it.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { test } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { agent, app, endpoint, failure, key } from "./app.mjs";

// A request to the admin API, signed like any other.
function admin(verb, path, body) {
  const date = new Date().toUTCString();
  const link = path.replace(/^\//, "").split("?")[0];
  const text = `${verb.toLowerCase()}\n_orrery\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
  const send = endpoint.startsWith("https") ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const options = { method: verb, headers: { authorization, "x-ms-date": date }, agent };
    const sent = send(new URL(path, endpoint), options, (answer) => {
      let text = "";
      answer.on("data", (chunk) => (text += chunk));
      answer.on("end", () => (answer.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))));
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

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
