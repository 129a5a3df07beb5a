import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { basename, join } from "node:path";
import { ServerProcess } from "../../../test/e2e/servers/process.ts";
import { temporaryFolder } from "../../../test/e2e/servers/tools/folders.ts";
import { type Service, type Socket, workerdConfig } from "./workerd-config.ts";

const WORKERD = createRequire(import.meta.url)("workerd").default as string;

/** What a workerd process runs. */
export interface WorkerdSpec {
  /** For messages. */
  readonly name: string;
  readonly services: readonly Service[];
  readonly sockets: readonly Socket[];
  /** Where the inspector listens; nowhere by default. */
  readonly inspectorPort?: number;
  /** The most that V8 may take for an isolate's heap, in MB, dead objects included. Default: as V8 likes. */
  readonly heapMegabytes?: number;
}

/** A workerd process: the runtime itself, without wrangler or anything else in front. */
export interface WorkerdProcess {
  readonly server: ServerProcess;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts workerd and waits until it takes connections. */
export async function startWorkerd(spec: WorkerdSpec): Promise<WorkerdProcess> {
  const server = prepareWorkerd(spec);
  await server.start();
  return {
    server,
    get pid() {
      return pidOf(server);
    },
    stop: () => server.stop(),
  };
}

/** A workerd process that is not started yet. */
export function prepareWorkerd(spec: WorkerdSpec): ServerProcess {
  const { name, services, sockets, inspectorPort, heapMegabytes } = spec;
  const folder = temporaryFolder("workerd");
  const config = join(folder, "config.capnp");
  // An absolute path would be looked for among the files that workerd brings along.
  for (const service of services)
    if ("modules" in service)
      for (const [, file] of service.modules) copyFileSync(file, join(folder, basename(file)));
  // Where memory is looked at, garbage is collected before.
  const flags = inspectorPort === undefined ? [] : ["--expose-gc"];
  if (heapMegabytes !== undefined) flags.push(`--max-heap-size=${heapMegabytes}`);
  writeFileSync(config, workerdConfig(services, sockets, flags));
  const inspector = inspectorPort === undefined ? [] : ["--inspector-addr", `127.0.0.1:${inspectorPort}`];
  return new ServerProcess({
    name,
    command: WORKERD,
    args: ["serve", ...inspector, config],
    folder,
    ready: () => takesConnections(sockets[0]!.port),
  });
}

/** @throws {Error} where it does not run */
export function pidOf(server: ServerProcess): number {
  if (server.pid === undefined) throw new Error(`${server.spec.name} has ended:\n${server.log()}`);
  return server.pid;
}

export async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
