import type { OnUpstreamChange } from "../../forward/upstream-health.ts";
import type { OnTransferEvent } from "../../transfer/transfer-events.ts";

/** Takes one event. No secret may be in it. */
export type Log = (level: "info" | "warn" | "error", event: string, message: string, fields?: object) => void;

/** Writes a line of JSON, which log services of serverless hosts take apart. */
export const logJson: Log = (level, event, message, fields = {}) => {
  console[level](JSON.stringify({ level, time: new Date().toISOString(), event, message, ...fields }));
};

/** Logs what a secondary tells. */
export function logTransfers(log: Log): OnTransferEvent {
  return ({ event, ...fields }) => {
    if ("error" in fields) {
      const { error, ...rest } = fields;
      log("error", event, describeError(error), rest);
    } else if (event === "stale") {
      log("warn", event, "the primary does not answer: answers say that they are stale", fields);
    } else {
      log("info", event, event.replaceAll("-", " "), fields);
    }
  };
}

/** Logs which upstreams answer. */
export function logUpstreams(log: Log): OnUpstreamChange {
  return (upstream, error) => {
    if (error === undefined) log("info", "upstream-answers", `${upstream} answers again`, { upstream });
    else log("warn", "upstream-failed", `${upstream} did not answer: ${describeError(error)}`, { upstream });
  };
}

/** What an error says, with what is behind it: `fetch failed` alone helps nobody. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
