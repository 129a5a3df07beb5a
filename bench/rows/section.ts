import { join } from "node:path";
import { runProgram } from "../processes/program.ts";
import type { Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { type WideWorld, wideEndpoints, wideWorld } from "../worlds/wide-world.ts";
import type { RowsCost } from "./rows-program.ts";

const MEBIBYTE = 1024 * 1024;
const ENDPOINTS = { small: [4000, 40_000], full: [100_000, 1_000_000] };
/** As the container image has them. */
const FLAGS = ["--max-semi-space-size=4", "--no-parallel-scavenge"];

/** What taking pushes into the database costs. */
export const rowsSection: Section = {
  name: "rows",
  summary: "1,000,000 endpoints as rows: reading lines, validating, writing, a first query",
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
      }
      const goals = [
        { row: "CPU in all", atMost: world === few ? 4.5 : 50 },
        { row: "CPU of a query whose key is not compiled", atMost: 200 },
        { row: "resident memory at most", atMost: 380 },
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
