import type { GatewayEvent } from "../../gateway/gateway-events.ts";
import type { StoreWarning } from "../../store/store-error.ts";

type Level = "info" | "warn" | "error";

/** Writes one event as a JSON object, which Workers Logs indexes by its fields. No secret may be among them. */
export function log(level: Level, event: string, message: string, fields: object = {}): void {
  const { error, ...rest } = fields as { readonly error?: unknown };
  console[level]({
    level,
    event,
    message,
    ...rest,
    ...(error !== undefined && { error: describeError(error) }),
  });
}

export function logGatewayEvent(event: GatewayEvent): void {
  const { event: name, ...fields } = event;
  if ("error" in event) log("error", name, name.replaceAll("-", " "), fields);
  else if (event.event === "lease-ran-out")
    log("warn", name, `the lease of ${event.clusterId} ran out: its names leave the answers`, fields);
  else log("info", name, name.replaceAll("-", " "), fields);
}

export function logStoreWarning({ message, ...fields }: StoreWarning): void {
  log("warn", "store-damage", message, fields);
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
