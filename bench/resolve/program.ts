/** `node bench/resolve/program.ts ROUNDS SHARE`: prints, as JSON, tables of queries per second. */
import dnsPacket, { type Packet } from "dns-packet";
import { KeyWorld } from "../../src/names/key-world.ts";
import { LeaseTables } from "../../src/resolve/record-writer.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import { entriesOf } from "../../test/names/entries-of.ts";
import type { Table } from "../report/report.ts";
import { measureInTurns } from "../report/rounds.ts";
import { WORLDS } from "../worlds/worlds.ts";
import { type Case, resolveCases } from "./cases.ts";

const [rounds, share] = process.argv.slice(2).map(Number);
const MICROSECONDS = 300_000 * share!;
const BASELINE = "dns-packet";

const snapshots = WORLDS["half headless"]();
const world = new KeyWorld(entriesOf(snapshots), {}, {}, new Map());
const context = {
  world,
  leases: new LeaseTables(() => 1e13),
  now: 0,
  rotation: 0,
  view: undefined,
  outside: "refuse" as const,
} satisfies ResolveContext;

const tables: Table[] = [];
for (const one of resolveCases(snapshots)) tables.push(await compare(one));
console.log(JSON.stringify(tables));

async function compare({ name, queries }: Case): Promise<Table> {
  let rotation = 0;
  const answers = queries.map((query) => {
    const { bytes } = resolve(query, context)!;
    return dnsPacket.decode(Buffer.from(bytes));
  });
  const buffers = queries.map((query) => Buffer.from(query));
  const contenders = [
    perSecond("resolve()", queries.length, (index) => {
      resolve(queries[index]!, { ...context, rotation: rotation++ });
    }),
    perSecond(BASELINE, queries.length, (index) => {
      const { id, questions } = dnsPacket.decode(buffers[index]!);
      dnsPacket.encode({ ...(answers[index] as Packet), id: id ?? 0, questions: questions ?? [] });
    }),
  ];
  const rows = await measureInTurns(contenders, rounds!, () => {});
  const title = `Queries answered per second of CPU time: ${name}`;
  return { title, rows, baselines: [BASELINE], goals: [], notes: [] };
}

/**
 * Calls `answer` with 0 to `count` - 1, again and again. The clock is CPU time: the machine may be shared.
 */
function perSecond(name: string, count: number, answer: (index: number) => void) {
  const measure = () => {
    let calls = 0;
    const started = process.cpuUsage();
    for (;;) {
      for (let index = 0; index < count; index++) answer(index);
      calls += count;
      const { user, system } = process.cpuUsage(started);
      if (user + system >= MICROSECONDS) return (calls / (user + system)) * 1e6;
    }
  };
  return { name, unit: "1/s", measure };
}
