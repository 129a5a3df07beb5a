import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StackSampler } from "../../cpu/time-inside.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../../processes/process-cpu.ts";
import { pidOf, prepareWorkerd, type WorkerdSpec } from "../workerd/workerd.ts";

/** What a part of a cold start took, in milliseconds. */
export interface Part {
  readonly wall: number;
  /** User and system time of the whole process. */
  readonly cpu: number;
}

/** What a fresh process took. */
export interface FirstAnswer {
  /**
   * From its start until it takes a connection. workerd has read its configuration by then, and runs no
   * script yet.
   */
  readonly process: Part;
  /** A request that the script answers without any work: the isolate starts and evaluates the script. */
  readonly isolate: Part;
  /** The first query. */
  readonly query: Part;
  /**
   * CPU time of it in milliseconds while isolates were entered; only where it was profiled, which makes
   * everything slower.
   */
  readonly inIsolates: number | undefined;
}

/** How a fresh process is asked. */
export interface FirstAnswerOptions {
  /** How long the process lives on, in milliseconds, for what it does in the background. */
  readonly linger?: number;
  /** Whether perf looks at what the first query takes. */
  readonly profiled?: boolean;
}

/** The path that asks a Worker for nothing, see `workers/started-first.ts`. */
const STARTED = "/started";
/** In workerd, what runs while the lock of an isolate is held for a request. */
const ENTERED = "workerd::IoContext::runInContextScope";
/** How long work in the background may take, in milliseconds. */
const BACKGROUND = 200;
const DEADLINE = 30_000;

/**
 * Starts a process, asks it, and ends it.
 * @param check throws unless the body is what it has to be
 */
export async function firstAnswer(
  spec: WorkerdSpec,
  path: string,
  check: (body: Buffer) => void,
  { linger = 0, profiled = false }: FirstAnswerOptions = {},
): Promise<FirstAnswer> {
  const server = prepareWorkerd(spec);
  const begun = performance.now();
  server.spawn();
  try {
    const socket = await connected(spec.sockets[0]!.port, begun + DEADLINE, () => server.isRunning);
    const pid = pidOf(server);
    let since = begun;
    let before: ReturnType<typeof readThreadTimes> = new Map();
    const part = (): Part => {
      const now = performance.now();
      const taken = { wall: now - since, cpu: cpuMicrosecondsSince(before, pid) / 1000 };
      before = readThreadTimes(pid);
      since = performance.now();
      return taken;
    };
    const process = part();
    await get(socket, STARTED);
    const isolate = part();
    const sampler = profiled
      ? await StackSampler.start(pid, join(server.spec.folder, "perf.data"))
      : undefined;
    const body = await get(socket, path);
    const query = part();
    try {
      check(body);
    } catch (error) {
      throw new Error(`${server.spec.name} after ${query.wall.toFixed(0)} ms:\n${server.log()}`, {
        cause: error,
      });
    }
    // What the request leaves to the background counts as its own.
    if (profiled) await sleep(BACKGROUND);
    const inIsolates = await sampler?.stop(ENTERED);
    socket.destroy();
    if (linger > 0) await sleep(linger);
    return { process, isolate, query, inIsolates: inIsolates?.inside };
  } finally {
    await server.kill();
  }
}

async function connected(port: number, deadline: number, isRunning: () => boolean): Promise<Socket> {
  while (isRunning() && performance.now() < deadline) {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    try {
      await once(socket, "connect");
      return socket;
    } catch {
      await sleep(1);
    }
  }
  throw new Error("the process takes no connections");
}

/** One HTTP/1.1 request by hand, since a client library would take longer than what is measured. */
async function get(socket: Socket, path: string): Promise<Buffer> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: doh.example\r\naccept: application/dns-message\r\n\r\n`);
  let response = Buffer.alloc(0);
  for (;;) {
    const [part] = (await once(socket, "data")) as [Buffer];
    response = Buffer.concat([response, part]);
    const end = response.indexOf("\r\n\r\n");
    if (end === -1) continue;
    const head = response.subarray(0, end).toString();
    if (!head.startsWith("HTTP/1.1 200 "))
      throw new Error(`the first answer is not 200:\n${response.toString()}`);
    const length = Number(/^content-length: *(\d+)\r?$/im.exec(head)?.[1]);
    if (response.length >= end + 4 + length) return response.subarray(end + 4);
  }
}
