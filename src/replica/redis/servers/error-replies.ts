import { ErrorReply } from "@redis/client";
import { messageOf, StoreError } from "../../../database/store-error.ts";
import type { Endpoint } from "./address.ts";

/**
 * What a server replies that does not take writes now, or not any more. `UNBLOCKED` ends a command that blocks when its server becomes a replica; `CLUSTERDOWN` comes from
 * a node that is cut off from the others, too.
 */
const NOT_THE_MASTER = /^(?:READONLY|MASTERDOWN|UNBLOCKED|CLUSTERDOWN) /;

/** Whether another server may take what this one did not: then a new connection finds it. */
export function isNotTheMaster(error: unknown): boolean {
  return error instanceof ErrorReply && NOT_THE_MASTER.test(error.message);
}

/**
 * The node of a Cluster that has the keys, of a reply `MOVED <slot> <host>:<port>`; then nothing was carried out. Undefined for other errors.
 * @param asked the node that replied: a reply without a host means that one
 */
export function movedTo(error: unknown, asked: Endpoint): Endpoint | undefined {
  if (!(error instanceof ErrorReply)) return undefined;
  const [, host = "", port] = /^MOVED \d+ (.*):(\d+)/.exec(error.message) ?? [];
  if (port === undefined) return undefined;
  return { host: host === "" || host === "?" ? asked.host : host, port: Number(port) };
}

/** The first word of an error reply is its code: OOM, READONLY, NOPERM, LOADING, MISCONF, TRYAGAIN. */
export function describeReply(error: ErrorReply): StoreError {
  const said = messageOf(error);
  if (!said.startsWith("OOM")) return engineFailed(said);
  return new StoreError(
    "STORE_FULL",
    "Valkey or Redis has no memory left (OOM): nothing can be stored until there is room",
  );
}

/** @param reason the system's code, or a sentence */
export function engineFailed(reason: string): StoreError {
  return new StoreError(
    "STORE_FAILED",
    `Valkey or Redis does not store (${reason}): nothing can be stored until it works`,
  );
}
