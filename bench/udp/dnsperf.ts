import { run } from "../../test/e2e/servers/run.ts";

/** A bounded load of plain DNS. */
export interface Load {
  readonly transport: "udp" | "tcp";
  readonly port: number;
  /** A file with a name and a type a line. */
  readonly queryFile: string;
  /** How often the file is asked through. */
  readonly times: number;
}

/** Sockets that ask, and queries that are in flight on all of them together. */
export const SOCKETS = 8;
export const IN_FLIGHT = 64;

/**
 * Asks and waits for the answers.
 * @returns how many queries were answered
 * @throws {Error} where any query was lost, or answered with another rcode than NOERROR
 */
export async function sendLoad({ transport, port, queryFile, times }: Load): Promise<number> {
  const where = ["-m", transport, "-s", "127.0.0.1", "-p", String(port), "-d", queryFile];
  const how = ["-n", String(times), "-c", String(SOCKETS), "-T", "1", "-q", String(IN_FLIGHT), "-e"];
  const output = await run("dnsperf", [...where, ...how]);
  const sent = Number(/Queries sent:\s+(\d+)/.exec(output)?.[1]);
  if (!(sent > 0) || !output.includes(`NOERROR ${sent} (100.00%)`))
    throw new Error(`not every query was answered with NOERROR:\n${output}`);
  return sent;
}
