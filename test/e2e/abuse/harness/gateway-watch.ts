import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { eventually } from "../../harness/answers.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { Bystander, type Connect } from "./bystanders.ts";
import { heldMebibytes, processOf, socketsOf } from "./held.ts";

/** Lines of a log about unforeseen errors. */
const FAILURES = /"level":"(?:error|fatal)"|[Uu]ncaught|[Uu]nhandled/;

/** What an attack must not change: the process, its sockets, memory and log, and the answers to others. */
export interface GatewayWatch {
  /** Waits until an ordinary client was answered once more. */
  answered(): Promise<void>;
  /** Expects that nothing has changed. @param mostGrowth of the held memory in MiB */
  end(mostGrowth: number): Promise<void>;
}

/** Starts an ordinary client and notes how the gateway is, which was started with `MEASURED`. */
export async function watchGateway(
  gateway: GatewayProcess,
  ...connect: readonly Connect[]
): Promise<GatewayWatch> {
  const identity = identityOf(gateway);
  const pid = gateway.process.pid!;
  const sockets = socketsOf(pid);
  const client = await Bystander.start(...connect);
  const mebibytes = await heldMebibytes(gateway);
  return {
    answered: () => client.answered(1),
    async end(mostGrowth) {
      expect(identityOf(gateway)).toBe(identity);
      await client.stop();
      await eventually(() => socketsOf(pid)).toBeLessThanOrEqual(sockets);
      await eventually(async () => (await heldMebibytes(gateway)) - mebibytes).toBeLessThan(mostGrowth);
      const lines = gateway.process.log().split("\n");
      expect(lines.filter((line) => FAILURES.test(line)).slice(0, 10)).toEqual([]);
      expect(identityOf(gateway)).toBe(identity);
    },
  };
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
