// The server's admin API (docs/admin-api.md).

import { createHmac } from "node:crypto";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { agent, endpoint, key } from "./app.mjs";

// A request to the admin API, signed like any other.
export function admin(verb, path, body) {
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
      answer.on("end", () => (answer.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

const path = (container) => `/_orrery/partitions/dbs/${container.database.id}/colls/${container.id}`;

// The ids of the partition key ranges in the order of their keys.
export async function ranges(container) {
  return (await admin("GET", path(container))).partitions.map((one) => one.id);
}

// Asks for a split or merge and waits until it is done.
async function change(container, body) {
  const asked = await admin("POST", path(container), body);
  const until = Date.now() + 60_000;
  while (Date.now() < until) {
    const mine = (await admin("GET", path(container))).operations.find((one) => one.id === asked.id);
    if (mine.stage === "done") return;
    if (mine.stage === "failed") throw new Error(mine.error);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${JSON.stringify(body)} is not done`);
}

// Splits every range.
export async function split(container, into = 2) {
  for (const range of await ranges(container)) await change(container, { split: { range, into } });
}

// Merges the ranges two by two.
export async function merge(container) {
  const ids = await ranges(container);
  for (let at = 0; at + 1 < ids.length; at += 2) {
    await change(container, { merge: { ranges: [ids[at], ids[at + 1]] } });
  }
}
