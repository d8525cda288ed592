// What every sample application gets: a client, and a database of its own.
//
// `cargo xtask test` sets ORRERY_ENDPOINT (once http, once https) and ORRERY_KEY.

import { Agent } from "node:https";
import { randomUUID } from "node:crypto";
import { after } from "node:test";
import { CosmosClient } from "@azure/cosmos";

export const endpoint = process.env.ORRERY_ENDPOINT ?? "http://localhost:8081";
export const key =
  process.env.ORRERY_KEY ??
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

// The certificate of a local server is its own.
export const agent = endpoint.startsWith("https") ? new Agent({ rejectUnauthorized: false }) : undefined;

export const client = new CosmosClient({ endpoint, key, agent });

const created = client.databases.create({ id: "js-" + randomUUID() });

export const app = {
  async database() {
    return (await created).database;
  },
  async container(definition) {
    const database = await this.database();
    const { container } = await database.containers.create({
      id: "c-" + randomUUID(),
      partitionKey: { paths: ["/customer"] },
      ...definition,
    });
    return container;
  },
};

after(async () => {
  await (await app.database()).delete();
  client.dispose();
});

// The error of a call that must fail.
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("the call should have failed");
}
