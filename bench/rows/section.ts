import { join } from "node:path";
import { encodeSnapshot } from "../../src/snapshot/lines/encode.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { buildRowsScript } from "../edge/workerd/bundles.ts";
import { startWorkerd } from "../edge/workerd/workerd.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { runProgram } from "../processes/program.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import type { Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { keyOf, type WideWorld, wideEndpoints, wideSnapshots, wideWorld } from "../worlds/wide-world.ts";
import type { RowsCost } from "./rows-program.ts";

const MEBIBYTE = 1024 * 1024;
const ENDPOINTS = { small: [4000, 40_000], full: [100_000, 1_000_000] };
/** As the container image has them. */
const FLAGS = ["--max-semi-space-size=4", "--no-parallel-scavenge"];
const OBJECT = "the object in workerd: CPU";

/** What taking pushes into the database costs. */
export const rowsSection: Section = {
  name: "rows",
  summary: "1,000,000 endpoints as rows: reading lines, validating, writing; 100,000 in an object",
  async measure(effort, progress) {
    const [few, many] = ENDPOINTS[effort.isSmall ? "small" : "full"].map(wideWorld) as [WideWorld, WideWorld];
    const tables: Table[] = [];
    for (const world of [few, many]) {
      const samples = new Samples();
      for (let round = 1; round <= effort.rounds; round++) {
        progress(`${wideEndpoints(world)} endpoints: round ${round} of ${effort.rounds}`);
        const program = join(import.meta.dirname, "rows-program.ts");
        const cost = await runProgram<RowsCost>(program, [String(wideEndpoints(world))], FLAGS);
        const { read, validate, prepare, write } = cost;
        samples.add("CPU in all", "s", read + validate + prepare + write);
        for (const [name, seconds] of Object.entries({ read, validate, prepare, write }))
          samples.add(`CPU: ${name}`, "s", seconds);
        samples.add("CPU of the same again", "s", cost.again);
        samples.add("CPU of one changed endpoint", "µs", cost.change);
        samples.add("CPU of the rows of one key", "µs", cost.key);
        samples.add("CPU of a query whose key is not compiled", "µs", cost.cold);
        samples.add("CPU of the same query again", "µs", cost.warm);
        samples.add("opening the file → first answer", "ms", cost.start);
        samples.add("resident memory at most", "MiB", cost.peakMemory / MEBIBYTE);
        samples.add("file", "MiB", cost.fileBytes / MEBIBYTE);
        if (world === few) await measureObject(world, samples);
      }
      const goals = [
        { row: "CPU in all", atMost: world === few ? 4.5 : 50 },
        { row: "CPU of a query whose key is not compiled", atMost: 200 },
        { row: "resident memory at most", atMost: 380 },
        ...(world === few ? [{ row: OBJECT, atMost: 6 }] : []),
      ];
      tables.push({
        title: `${wideEndpoints(world).toLocaleString("en")} endpoints, taken as rows`,
        rows: samples.rows,
        baselines: [],
        goals: effort.isSmall ? [] : goals,
        notes: [],
      });
    }
    return tables;
  },
};

async function measureObject(world: WideWorld, samples: Samples): Promise<void> {
  const port = await freePort();
  const script = await buildRowsScript();
  const object = await startWorkerd({
    name: "rows",
    services: [
      {
        name: "rows",
        modules: [["rows.js", script]],
        bindings: [{ name: "ROWS", objects: "RowsObject", of: "rows" }],
        objects: { classes: ["RowsObject"], disk: "state" },
      },
      { name: "state", folder: temporaryFolder("state") },
    ],
    sockets: [{ port, service: "rows" }],
  });
  try {
    const ask = async (path: string, init?: RequestInit) => {
      const response = await fetch(`http://127.0.0.1:${port}/${path}`, init);
      if (!response.ok) throw new Error(`the object: ${response.status} ${await response.text()}`);
      return response.json();
    };
    await ask("nothing");
    const before = readThreadTimes(object.pid);
    for (const snapshot of wideSnapshots(world))
      await ask(snapshot.clusterId, { method: "PUT", body: Buffer.concat([...encodeSnapshot(snapshot)]) });
    samples.add(OBJECT, "s", cpuMicrosecondsSince(before, object.pid) / 1e6);
    samples.add(
      "the object in workerd: resident memory at most",
      "MiB",
      residentMemory(object.pid).peak / MEBIBYTE,
    );
    const rows = (await ask(keyOf(0))) as unknown[];
    if (rows.length !== 8) throw new Error(`the object has ${rows.length} rows of a key`);
  } finally {
    await object.stop();
  }
}
