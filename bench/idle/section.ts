import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MEASURED, processOf, residentMebibytes } from "../../test/e2e/abuse/harness/held.ts";
import { startGateway } from "../../test/e2e/harness/processes.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { ServerProcess } from "../../test/e2e/servers/process.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { pidOf } from "../cpu/contenders.ts";
import type { FixedAnswer } from "../cpu/fixed-answer.ts";
import type { Section } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { openConnections } from "./connections.ts";

const CONNECTIONS = 10_000;
/** Opened and closed before: buffers and compiled code have their size then. */
const WARM_UP = 500;
const SETTLE_MS = 1000;

const GATEWAY = "gateway";
const HTTP2 = "node:http2";
const TLS = "node:tls";

/** What idle connections cost. */
export const idleSection: Section = {
  name: "idle",
  summary: "memory of each idle HTTP/2 connection over TLS, beside node:http2 and TLS alone",
  measure: async ({ rounds, share }, progress) => {
    const count = CONNECTIONS * share;
    const limits = { connections: 2 * CONNECTIONS, idleSeconds: 3600 };
    const first = await startGateway({ config: { limits, threads: 1 } });
    await first.stop();
    const { ca, stateDir } = first;
    const start = {
      [GATEWAY]: async () => {
        const { process, url } = await startGateway({
          config: { limits, threads: 1 },
          stateDir,
          env: MEASURED,
        });
        return { process, port: Number(new URL(url).port) };
      },
      [HTTP2]: () => startFixed("../cpu/fixed-http2-program.ts", stateDir),
      [TLS]: () => startFixed("tls-program.ts", stateDir),
    };
    const contenders: Contender[] = Object.entries(start).map(([name, startServer]) => {
      const measure = async () => {
        const { process, port } = await startServer();
        const cycle = async (connections: number) => {
          const before = await held(pidOf(process));
          const opened = await openConnections(port, ca, connections);
          const after = await held(pidOf(process));
          for (const socket of opened) socket.removeAllListeners("close").destroy();
          await sleep(SETTLE_MS);
          return ((after - before) * 1024) / connections;
        };
        await cycle(WARM_UP);
        const each = await cycle(count);
        await process.stop();
        return each;
      };
      return { name, unit: "KiB", measure };
    });
    const rows = await measureInTurns(contenders, rounds, progress);
    return [
      {
        title: "Memory of an idle connection",
        rows,
        baselines: [HTTP2, TLS],
        goals: [{ row: GATEWAY, dividedBy: HTTP2, atMost: 0.5 }],
        notes: [
          `Resident memory of a new process, without garbage for ${count.toLocaleString("en")} connections, each of which had the answer to one query.`,
          "node:http2 and node:tls run on their own, with nothing else in the process. Without TLS, which no HTTP/2 server can do without, read the differences to node:tls.",
        ],
      },
    ];
  },
};

async function startFixed(program: string, stateDir: string) {
  const port = await freePort();
  const started: FixedAnswer = {
    port,
    certFile: join(stateDir, "tls", "self-signed.crt"),
    keyFile: join(stateDir, "tls", "self-signed.key"),
    headers: {},
    body: "",
  };
  const process = new ServerProcess({
    name: "idle",
    command: globalThis.process.execPath,
    args: [join(import.meta.dirname, program), JSON.stringify(started)],
    folder: temporaryFolder("idle"),
    env: MEASURED,
    ready: async () =>
      (await openConnections(port, readFileSync(started.certFile, "utf8"), 1)).every((socket) =>
        socket.removeAllListeners("close").destroy(),
      ),
  });
  await process.start();
  return { port, process };
}

/** Resident memory in MiB, after the garbage is collected. */
async function held(pid: number): Promise<number> {
  process.kill(processOf(pid), "SIGUSR2");
  await sleep(SETTLE_MS);
  return residentMebibytes(pid);
}
