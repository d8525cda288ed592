// Splits and merges through the server's admin API (docs/admin-api.md).

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request as http } from "node:http";
import { request as https } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { agent, endpoint, key } from "./app.mjs";

function send(method, url, headers, body) {
  return new Promise((resolve, reject) => {
    const start = url.protocol === "https:" ? https : http;
    const request = start(url, { method, headers, agent }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => resolve({ status: answer.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function ask(method, container, body) {
  const path = `_orrery/partitions/dbs/${container.database.id}/colls/${container.id}`;
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n_orrery\n${path}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
  const headers = { authorization, "x-ms-date": date };
  const answer = await send(method, new URL(path, endpoint), headers, body && JSON.stringify(body));
  assert.ok(answer.status < 300, answer.text);
  return JSON.parse(answer.text);
}

// The ids of the partition key ranges in the order of their keys.
export async function ranges(container) {
  return (await ask("GET", container)).partitions.map((one) => one.id);
}

// Asks for a split or merge and waits until it is done.
async function change(container, body) {
  const { id } = await ask("POST", container, body);
  for (let turn = 0; turn < 3000; turn += 1) {
    const mine = (await ask("GET", container)).operations.find((one) => one.id === id);
    assert.notEqual(mine.stage, "failed", mine.error);
    if (mine.stage === "done") return;
    await pause(20);
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
