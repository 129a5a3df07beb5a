import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Argument, Command, InvalidArgumentError } from "commander";
import { accessSection } from "./access/section.ts";
import { churnSection } from "./change/churn-section.ts";
import { costSection } from "./change/cost-section.ts";
import { changeSection } from "./change/section.ts";
import { stallsSection } from "./change/stalls-section.ts";
import { controlSection } from "./control/section.ts";
import { cpuSection } from "./cpu/section.ts";
import { nameOfShape, parseShapes, SHAPES, type Shape } from "./cpu/shapes.ts";
import { edgeObjectSection, edgeSection, edgeSizeSection } from "./edge/section.ts";
import { forwardSection } from "./forward/section.ts";
import { idleSection } from "./idle/section.ts";
import { manySection } from "./many/section.ts";
import { formatTable } from "./report/format-table.ts";
import type { Table } from "./report/report.ts";
import { resolveSection } from "./resolve/section.ts";
import { rowsSection } from "./rows/section.ts";
import { sizeSection } from "./size/section.ts";
import { threadsSection } from "./threads/section.ts";
import { udpSection } from "./udp/section.ts";

const sections = [
  cpuSection,
  idleSection,
  threadsSection,
  udpSection,
  resolveSection,
  changeSection,
  controlSection,
  costSection,
  stallsSection,
  sizeSection,
  rowsSection,
  churnSection,
  edgeSection,
  edgeSizeSection,
  edgeObjectSection,
  forwardSection,
  accessSection,
  manySection,
];

interface Options {
  readonly rounds?: number;
  readonly small: boolean;
  readonly minutes?: number;
  readonly endpoints?: number;
  readonly shapes?: readonly Shape[];
  readonly json?: string;
}

const program = new Command("npm run bench --")
  .description("Measures the gateway beside its alternatives on this machine and prints tables.")
  .addArgument(
    new Argument("[sections...]", "what to measure; default: everything").choices(
      sections.map(({ name }) => name),
    ),
  )
  .option("--rounds <number>", "how often each contender is measured (default: 5, with --small 2)", positive)
  .option(
    "--small",
    "small worlds and a tenth of the work: for trying the benchmarks, not for their numbers",
    false,
  )
  .option("--minutes <number>", "how long churn lasts (default: 10, with --small a quarter)", positive)
  .option(
    "--endpoints <number>",
    "endpoints of the world of edge-size, edge-object and many (default: 1000000, with --small 20000), and of control (10000, 500)",
    positive,
  )
  .option(
    "--shapes <list>",
    `connections x requests in flight of cpu (default: ${SHAPES.map(nameOfShape).join(",")})`,
    shapes,
  )
  .option("--json <file>", "write the samples of every table to this file")
  .addHelpText("after", () =>
    [
      "",
      "Sections:",
      ...sections.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}`),
      "",
      "Example:",
      "  npm run bench -- cpu resolve --rounds 7 --json bench.json",
      "",
      "All but resolve start real servers; what is missing is installed or built as for `npm run test:e2e`. edge-size needs `perf` (Debian: linux-perf).",
    ].join("\n"),
  )
  .action(measureSections);

async function measureSections(names: readonly string[], options: Options): Promise<void> {
  const { small: isSmall, rounds = isSmall ? 2 : 5, minutes = isSmall ? 0.25 : 10 } = options;
  const { endpoints, shapes } = options;
  const effort = { rounds, share: isSmall ? 0.1 : 1, isSmall, minutes, endpoints, shapes };
  const results: { section: string; tables: readonly Table[] }[] = [];
  const chosen = sections.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const { name, measure } of chosen) {
    const tables = await measure(effort, (line) => console.error(`${name}: ${line}`));
    for (const table of tables) console.log(formatTable(table));
    results.push({ section: name, tables });
  }
  if (options.json === undefined) return;
  const machine = { node: process.version, cores: availableParallelism() };
  writeFileSync(options.json, `${JSON.stringify({ machine, effort, results }, null, 2)}\n`);
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("must be a whole number from 1");
  return value;
}

function shapes(text: string): readonly Shape[] {
  const parsed = parseShapes(text);
  if (parsed === undefined) throw new InvalidArgumentError("must be a list such as 8x50,64x1");
  return parsed;
}

await program.parseAsync();
// An API server that was stopped goes on for the next one who starts one in this process, and ends with it.
process.exit();
