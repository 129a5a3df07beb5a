import { rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import type { MemoryUse } from "../processes/memory.ts";
import { runProgram } from "../processes/program.ts";
import type { Effort, Progress, Row, Section, Table } from "../report/report.ts";
import { WORLDS, type WorldName } from "../worlds/worlds.ts";
import type { Compilation } from "./compile-program.ts";
import type { Loading } from "./load-program.ts";

const MEBIBYTE = 1024 * 1024;
const PARSE = "JSON.parse of the snapshots";

/** Merging, compiling, loading and holding 10,000 services with 100,000 endpoints. */
export const generationSection: Section = {
  name: "generation",
  summary: "10,000 services with 100,000 endpoints: compile, load, bytes for each endpoint, memory",
  async measure(effort, progress) {
    const tables: Table[] = [];
    for (const world of Object.keys(WORLDS) as WorldName[])
      tables.push(...(await measureWorld(world, effort, progress)));
    return tables;
  },
};

async function measureWorld(world: WorldName, effort: Effort, progress: Progress): Promise<Table[]> {
  const folder = temporaryFolder("generation");
  const file = join(folder, "generation");
  const compilations: Compilation[] = [];
  const loadings: Loading[] = [];
  const held: MemoryUse[] = [];
  const changes = String(Math.ceil(5 * effort.share));
  for (let round = 1; round <= effort.rounds; round++) {
    progress(`${world}: round ${round} of ${effort.rounds}`);
    compilations.push(await runProgram<Compilation>(program("compile"), [world, changes, file]));
    loadings.push(await runProgram<Loading>(program("load"), [file]));
    held.push(await runProgram<MemoryUse>(program("hold"), [world]));
  }
  rmSync(folder, { recursive: true });
  const { endpoints, generationBytes, names } = compilations[0]!;
  return [
    {
      title: `10,000 services, ${world}, ${endpoints.toLocaleString("en")} endpoints: times`,
      rows: timeRows(compilations, loadings),
      baselines: [PARSE],
      goals: [{ row: "load the generation", atMost: 10 }],
      notes: [
        "Each round is a fresh process: compilers are cold for the first merge and compile, warm after five changes.",
      ],
    },
    {
      title: `10,000 services, ${world}: sizes`,
      rows: [
        { name: "names", unit: "", samples: [names] },
        { name: "generation", unit: "MiB", samples: [generationBytes / MEBIBYTE] },
        { name: "bytes per endpoint", unit: "B", samples: [generationBytes / endpoints] },
        ...memoryRows(
          "process that holds the generation",
          loadings.map(({ memory }) => memory),
        ),
        ...memoryRows("process that holds snapshots, merged services and generation", held),
      ],
      baselines: [],
      goals: [{ row: "bytes per endpoint", atMost: 120 }],
      notes: [
        "An endpoint is one address in an EndpointSlice. Memory is what is added to a process that has loaded the code.",
      ],
    },
  ];
}

function program(name: string): string {
  return join(import.meta.dirname, `${name}-program.ts`);
}

function timeRows(compilations: readonly Compilation[], loadings: readonly Loading[]): Row[] {
  const milliseconds = (name: string, samples: readonly number[]): Row => ({ name, unit: "ms", samples });
  const last = (samples: readonly number[]) => samples.at(-1)!;
  return [
    milliseconds(
      PARSE,
      compilations.map(({ parse }) => parse),
    ),
    milliseconds(
      "merge, first",
      compilations.map(({ merge }) => merge),
    ),
    milliseconds(
      "compile, first",
      compilations.map(({ compile }) => compile),
    ),
    milliseconds(
      "one endpoint changed: apply the patch",
      compilations.map(({ patch }) => last(patch)),
    ),
    milliseconds(
      "one endpoint changed: merge",
      compilations.map(({ mergeChange }) => last(mergeChange)),
    ),
    milliseconds(
      "one endpoint changed: compile",
      compilations.map(({ compileChange }) => last(compileChange)),
    ),
    milliseconds(
      "read the file",
      loadings.map(({ read }) => read),
    ),
    milliseconds(
      "load the generation",
      loadings.map(({ load }) => load),
    ),
    milliseconds(
      "first answer from it",
      loadings.map(({ firstAnswer }) => firstAnswer),
    ),
  ];
}

function memoryRows(name: string, uses: readonly MemoryUse[]): Row[] {
  const row = (part: string, bytes: (use: MemoryUse) => number): Row => ({
    name: `${name}: ${part}`,
    unit: "MiB",
    samples: uses.map((use) => bytes(use) / MEBIBYTE),
  });
  return [
    row("heap", ({ heap }) => heap),
    row("buffers", ({ buffers }) => buffers),
    row("resident", ({ resident }) => resident),
  ];
}
