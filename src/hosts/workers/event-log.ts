import type { GatewayEvent } from "../../gateway/gateway-events.ts";
import type { StoreWarning } from "../../store/store-error.ts";
import type { TransferEvent } from "../../transfer/transfer-events.ts";

type Level = "info" | "warn" | "error";

/** Writes one event as a line of JSON, whose fields Workers Logs can be searched by. No secret may be among them. */
export function log(level: Level, event: string, message: string, fields: object = {}): void {
  const { error, ...rest } = fields as { readonly error?: unknown };
  const time = new Date().toISOString();
  const described = error === undefined ? {} : { error: describeError(error) };
  console[level](JSON.stringify({ level, time, event, message, ...rest, ...described }));
}

export function logGatewayEvent(event: GatewayEvent): void {
  const { event: name, ...fields } = event;
  if ("error" in event) log("error", name, words(name), fields);
  else if (event.event === "lease-ran-out")
    log("warn", name, `the lease of ${event.clusterId} ran out: its names leave the answers`, fields);
  else log("info", name, words(name), fields);
}

export function logTransferEvent(event: TransferEvent): void {
  const { event: name, ...fields } = event;
  if ("error" in event) log("warn", name, words(name), fields);
  else if (event.event === "stale") log("warn", name, "answers say that they are stale", fields);
  else log("info", name, words(name), fields);
}

export function logStoreWarning({ message, ...fields }: StoreWarning): void {
  log("warn", "store-damage", message, fields);
}

function words(event: string): string {
  return event.replaceAll("-", " ");
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
