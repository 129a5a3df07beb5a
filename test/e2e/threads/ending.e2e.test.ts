import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { eventually } from "../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { type Connection, MANY, openMany } from "./connections.ts";

const NAME = "web.shop.svc.clusterset.local";
const PRELOAD = fileURLToPath(new URL("ending-thread.ts", import.meta.url));
/** Enough for every thread of this gateway, and soon filled by one. In MiB. */
const HEAP = 192;

async function start(causeFile: string): Promise<GatewayProcess> {
  const gateway = await startGateway({
    clusters: ["west"],
    leaseSeconds: 600,
    // Most connections are silent for long.
    config: { threads: 2, access: { public: true }, limits: { requestSeconds: 600 } },
    env: {
      NODE_OPTIONS: `--max-old-space-size=${HEAP} --import=${PRELOAD}`,
      ENDING_CAUSE: causeFile,
    },
  });
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

async function open(gateway: GatewayProcess): Promise<Connection[]> {
  const connections = await openMany(gateway);
  onTestFinished(() => {
    for (const connection of connections) connection.close();
  });
  return connections;
}

async function push(gateway: GatewayProcess, endpoints: number): Promise<void> {
  expect((await gateway.push(shopSnapshot("west", endpoints))).status).toBe(200);
}

/** The connections of each thread, and how many threads were replaced. */
async function countsOn(connection: Connection): Promise<{ open: number[]; replaced: number }> {
  const text = (await connection.get("/metrics")).body.toString();
  const values = (metric: string) =>
    Array.from(text.matchAll(new RegExp(`^${metric}(?:\\{[^}]*\\})? (\\d+)$`, "gm")), ([, value]) =>
      Number(value),
    );
  return {
    open: values("clusterset_doh_thread_connections"),
    replaced: values("clusterset_doh_threads_replaced_total")[0]!,
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

it.each([
  ["that reaches the limit of its memory", "memory", "ERR_WORKER_OUT_OF_MEMORY"],
  ["with an uncaught error", "error", "an error that nothing catches"],
])(
  "a thread %s is logged, counted and replaced, and only its connections are lost",
  async (_, cause, reason) => {
    const causeFile = join(temporaryFolder("ending"), "cause");
    const gateway = await start(causeFile);
    await push(gateway, 2);
    const connections = await open(gateway);
    // Those of the requests above close soon.
    await eventually(async () => sum((await countsOn(connections[0]!)).open)).toBe(MANY);
    const before = await countsOn(connections[0]!);
    expect([before.open.length, before.replaced]).toEqual([2, 0]);
    const kept = () => connections.filter(({ session }) => !session.closed && !session.destroyed);

    writeFileSync(`${causeFile}.draft`, cause);
    renameSync(`${causeFile}.draft`, causeFile);
    const events = () =>
      gateway.process
        .log()
        .split("\n")
        .filter((line) => line.includes('"event":"thread-'))
        .map((line) => JSON.parse(line) as { event: string; level: string; thread: number; err?: object });
    await eventually(() => events().map(({ event }) => event)).toEqual(["thread-ended", "thread-replaced"]);
    const [ended] = events();
    expect([ended!.level, ended!.thread]).toEqual(["error", 1]);
    expect(JSON.stringify(ended!.err)).toContain(reason);

    await eventually(() => kept().length).toBe(before.open[0]);
    for (const connection of kept()) expect(await connection.addresses(NAME)).toHaveLength(2);
    expect(await countsOn(kept()[0]!)).toEqual({ open: [before.open[0], 0], replaced: 1 });

    // The thread in its place has what was pushed before, and what is pushed from now on.
    const more = await open(gateway);
    for (const connection of more) expect(await connection.addresses(NAME)).toHaveLength(2);
    expect(Math.min(...(await countsOn(more[0]!)).open)).toBeGreaterThan(0);
    await push(gateway, 3);
    for (const connection of [...kept(), ...more]) expect(await connection.addresses(NAME)).toHaveLength(3);
    expect(kept()).toHaveLength(before.open[0]!);
  },
);
