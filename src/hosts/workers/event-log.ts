import { type GatewayEvent, levelOf } from "../../gateway/gateway-events.ts";
import type { StoreWarning } from "../../store/store-error.ts";
import { describeError, logJson } from "../logging/json-log.ts";

/** Logs an error that nobody foresaw, with its stack. */
export function logFailure(event: string, message: string, error: unknown, fields: object = {}): void {
  const described = error instanceof Error ? (error.stack ?? error.message) : String(error);
  logJson("error", event, message, { ...fields, error: described });
}

/** Logs what the object's gateway tells. */
export function logGatewayEvent(event: GatewayEvent): void {
  const { event: name, ...fields } = event;
  if ("error" in fields) {
    const { error, ...rest } = fields;
    logJson("error", name, describeError(error), rest);
  } else if (event.event === "lease-ran-out") {
    logJson("warn", name, `the lease of ${event.clusterId} expired: its names leave the answers`, fields);
  } else if (event.event === "compiled") {
    // Cloudflare stops the clock while a Worker computes, so how long it took is not known here.
    const { event: _, milliseconds: __, ...rest } = event;
    logJson("info", name, name, rest);
  } else {
    logJson(levelOf(event), name, name, fields);
  }
}

/** Logs what the object's store found damaged. */
export function logStoreWarning({ message, ...fields }: StoreWarning): void {
  logJson("warn", "store-damage", message, fields);
}
