import { setTimeout as sleep } from "node:timers/promises";
import { openConnections } from "../idle/connections.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import type { Threaded } from "./threaded.ts";

const CONNECTIONS = 3000;
/** After connections were closed, in milliseconds: the gateway sees it and counts fewer. */
const CLOSING = 1000;

/** How far the thread with the most or the fewest connections is from an even share. */
export async function measureSpread(
  started: readonly Threaded[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const count = CONNECTIONS * share;
  const last = new Map<string, readonly number[]>();
  const contenders = started.map(({ name, threads, gateway }): Contender => {
    const measure = async () => {
      const opened = await openConnections(Number(new URL(gateway.url).port), gateway.ca, count);
      const { text } = await gateway.http("/metrics");
      for (const socket of opened) socket.removeAllListeners("close").destroy();
      await sleep(CLOSING);
      const found = text.matchAll(/^clusterset_doh_thread_connections\{[^}]*\} (\d+)$/gm);
      const counts = Array.from(found, ([, value]) => Number(value));
      if (counts.length !== threads) throw new Error(`the metrics name ${counts.length} threads`);
      last.set(name, counts);
      const even = counts.reduce((sum, value) => sum + value, 0) / threads;
      return Math.max(...counts.map((value) => Math.abs(value / even - 1) * 100));
    };
    return { name, unit: "%", measure };
  });
  const rows = await measureInTurns(contenders, rounds, (line) => progress(`connections: ${line}`));
  return {
    title: "Connections of a thread: the largest difference from an even share",
    rows,
    baselines: [],
    goals: rows.map(({ name: row }) => ({ row, atMost: 10 })),
    notes: [
      `Of ${count.toLocaleString("en")} connections over HTTP/2 with TLS, which the kernel spreads by a hash of their addresses and ports.`,
      `Connections of each thread in the last round: ${[...last].map(([name, counts]) => `${name} ${counts.join(", ")}`).join("; ")}.`,
    ],
  };
}
