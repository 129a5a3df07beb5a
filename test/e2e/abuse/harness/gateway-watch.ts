import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { eventually } from "../../harness/answers.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { heldMebibytes, processOf, socketsOf } from "./held.ts";

/** An ordinary client during an attack. */
export interface OrdinaryClient {
  /** How a connection that it keeps was dropped, each time. */
  readonly drops: readonly string[];
  answered(more: number): Promise<void>;
  stop(): Promise<number>;
}

/** Lines of a log about unforeseen errors. */
const FAILURES = /"level":"(?:error|fatal)"|[Uu]ncaught|[Uu]nhandled/;

/**
 * What an attack must not change: the process, its sockets and memory, its log, and the answers to others.
 */
export class GatewayWatch {
  readonly #gateway: GatewayProcess;
  readonly #clients: readonly OrdinaryClient[];
  readonly #process: string;
  readonly #sockets: number;
  readonly #mebibytes: number;

  private constructor(
    gateway: GatewayProcess,
    clients: readonly OrdinaryClient[],
    sockets: number,
    mebibytes: number,
  ) {
    this.#gateway = gateway;
    this.#clients = clients;
    this.#process = identityOf(gateway);
    this.#sockets = sockets;
    this.#mebibytes = mebibytes;
  }

  /** Starts ordinary clients and notes how the gateway is, which was started with `MEASURED`. */
  static async start(
    gateway: GatewayProcess,
    ...start: readonly (() => Promise<OrdinaryClient>)[]
  ): Promise<GatewayWatch> {
    const sockets = socketsOf(gateway.process.pid!);
    const clients = await Promise.all(start.map((one) => one()));
    return new GatewayWatch(gateway, clients, sockets, await heldMebibytes(gateway));
  }

  /** Waits until each ordinary client was answered once more. */
  async answered(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.answered(1)));
  }

  /**
   * Expects that nothing has changed.
   * @param mostGrowth of the held memory in MiB
   */
  async end(mostGrowth: number): Promise<void> {
    const { process } = this.#gateway;
    expect(identityOf(this.#gateway)).toBe(this.#process);
    for (const client of this.#clients) {
      expect(await client.stop()).toBeGreaterThan(0);
      expect(client.drops).toEqual([]);
    }
    await eventually(() => socketsOf(process.pid!)).toBeLessThanOrEqual(this.#sockets);
    const growth = async () => (await heldMebibytes(this.#gateway)) - this.#mebibytes;
    await eventually(growth).toBeLessThan(mostGrowth);
    const lines = process.log().split("\n");
    expect(lines.filter((line) => FAILURES.test(line)).slice(0, 10)).toEqual([]);
    expect(identityOf(this.#gateway)).toBe(this.#process);
  }
}

/** Identifies a process, even among others with the same ID: its start time is field 22 (proc(5), stat). */
function identityOf({ process }: GatewayProcess): string {
  if (!process.isRunning) return `ended: ${process.log().trim().split("\n").slice(-20).join("\n")}`;
  const pid = processOf(process.pid!);
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return `process ${pid} started at ${fields[19]}`;
}
