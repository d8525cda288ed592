// Runs the golden scripts through the JavaScript SDK: its own plans, its own merge over the ranges.
//
// `cargo xtask golden` starts it with the address of a server, its key, a file with the scripts as
// JSON, and `RANGES:PAGE-SIZE,...` settings (page size 0: the client does not say). In the middle
// of all walks of a setting it prints `RESTART`, and goes on when it is told that the server is
// back.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { CosmosClient } from "@azure/cosmos";

const [endpoint, key, file, settings] = process.argv.slice(2);
const scripts = JSON.parse(readFileSync(file, "utf8"));
const system = new Set(["_rid", "_self", "_etag", "_attachments", "_ts"]);
// Queries that are under way at a time: most of a walk over many ranges is waiting.
const AT_A_TIME = 8;
// Offers that give containers of so many ranges.
const offers = { 1: 400, 3: 18000, 16: 96000 };
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// A text that two values share exactly when they are equal.
function comparable(value) {
  if (Array.isArray(value)) return `[${value.map(comparable).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.keys(value).filter((name) => value[name] !== undefined).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${comparable(value[name])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

function plain(row) {
  if (row === null || typeof row !== "object" || Array.isArray(row)) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => !system.has(name)));
}

function judge(expected, rows) {
  const found = rows.map((row) => comparable(plain(row)));
  const wanted = expected.rows.map(comparable);
  let good;
  if (expected.order === "exact") {
    good = found.join("\n") === wanted.join("\n");
  } else if (expected.order === "any") {
    good = [...found].sort().join("\n") === [...wanted].sort().join("\n");
  } else {
    const rest = [...wanted];
    good = found.length === expected.count;
    for (const row of found) {
      const place = rest.indexOf(row);
      good &&= place >= 0;
      rest.splice(place, 1);
    }
  }
  return good ? "" : `found ${found.join(" ")}\n  wanted ${wanted.join(" ")}`;
}

// One query, page by page.
class Walk {
  constructor(container, expected, size) {
    this.case = expected;
    this.size = size;
    this.rows = [];
    this.outcome = undefined;
    const options = {};
    if (size) options.maxItemCount = size;
    if (expected.key !== null) options.partitionKey = expected.key.length === 1 ? expected.key[0] : expected.key;
    this.pages = container.items.query({ query: expected.query, parameters: expected.parameters }, options);
  }

  // Reads so many pages at most; a query that is at its end or refused says its outcome.
  async go(most) {
    try {
      while (most > 0 && this.pages.hasMoreResults()) {
        const { resources } = await this.pages.fetchNext();
        const rows = resources ?? [];
        if (this.size && rows.length > this.size) {
          this.outcome = `a page of ${rows.length} rows`;
          return;
        }
        this.rows.push(...rows);
        most -= 1;
      }
    } catch (error) {
      const text = `${error.message} ${JSON.stringify(error.body ?? "")}`;
      const missing = this.case.rows.filter((part) => !text.includes(part));
      const isWanted = this.case.order === "error" && error.code === 400 && missing.length === 0;
      this.outcome = isWanted ? "" : `refused: ${error.code} ${text}`;
      return;
    }
    if (this.pages.hasMoreResults()) return;
    this.outcome = this.case.order === "error" ? "not refused" : judge(this.case, this.rows);
  }
}

// Some work for each of a list, several at a time.
async function each(list, work) {
  const rest = list.values();
  const worker = async () => {
    for (const one of rest) await work(one);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

async function fill(database, script, ranges) {
  const { container } = await database.containers.create({
    ...script.container,
    id: `${script.name}-${ranges}`,
    throughput: offers[ranges],
  });
  for (const item of script.items) await container.items.upsert(item);
  const { resources } = await container.readPartitionKeyRanges().fetchAll();
  if (resources.length !== ranges) throw new Error(`${resources.length} ranges instead of ${ranges}`);
  return container;
}

async function restart(client) {
  console.log("RESTART");
  if ((await input.next()).value !== "GO") throw new Error("the server is not back");
  // Connections of the pool that the old server left behind are found out here.
  for (let round = 0; round < 20; round += 1) {
    try {
      await client.databases.readAll().fetchAll();
      return;
    } catch {
      continue;
    }
  }
}

async function main() {
  const complaints = [];
  let [passed, skipped] = [0, 0];
  const client = new CosmosClient({ endpoint, key });
  const { database } = await client.databases.create({ id: `golden-${randomUUID()}` });
  const containers = new Map();
  for (const setting of settings.split(",")) {
    const [ranges, size] = setting.split(":").map(Number);
    const started = performance.now();
    const walks = [];
    for (const script of scripts) {
      const place = `${script.name}-${ranges}`;
      if (!containers.has(place)) containers.set(place, await fill(database, script, ranges));
      for (const expected of script.cases) {
        const isMerged = ranges > 1 && expected.key === null;
        const skips = isMerged ? expected.notMergedBy : expected.unplanned;
        if (expected.without.includes("js") || skips.includes("js")) {
          skipped += 1;
          continue;
        }
        walks.push({ name: script.name, walk: new Walk(containers.get(place), expected, size) });
      }
    }
    await each(walks, ({ walk }) => {
      const half = size ? Math.floor(walk.case.rows.length / (2 * size)) : 1;
      return walk.go(Math.max(1, half));
    });
    const halved = performance.now();
    await restart(client);
    await each(walks, async ({ walk }) => {
      if (walk.outcome === undefined) await walk.go(100_000);
    });
    for (const { name, walk } of walks) {
      if (walk.outcome === undefined) walk.outcome = "does not end";
      if (walk.outcome === "") passed += 1;
      else complaints.push(`${name} \`${walk.case.name}\` ${setting}: ${walk.outcome}`);
    }
    const seconds = (since) => ((performance.now() - since) / 1000).toFixed(1);
    console.log(`js ${setting}: ${walks.length} walks in ${seconds(started)} s, ${seconds(halved)} s after the restart`);
  }
  for (const complaint of complaints) console.log("WRONG", complaint);
  await database.delete();
  console.log(`DONE js: ${passed} walks right, ${complaints.length} wrong, ${skipped} not merged by this SDK`);
  process.exit(complaints.length > 0 || passed === 0 ? 1 : 0);
}

await main();
