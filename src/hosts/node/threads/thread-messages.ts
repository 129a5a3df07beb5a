import type { MessagePort } from "node:worker_threads";
import type { ServeConfig } from "../../../config/settings.ts";
import type { ClusterMeta } from "../../../database/cluster-row.ts";
import type { StubRegistration } from "../../../forward/stub-zones.ts";
import type { SharedLimitMemory } from "../../../limits/shared.ts";
import type { ListeningPlace } from "../listeners/listeners.ts";
import type { ServerTls } from "../tls.ts";

/** What an answering thread starts with. */
export interface ThreadStart {
  /** The number of the thread, from 0. */
  readonly index: number;
  readonly config: ServeConfig;
  readonly tls: ServerTls | undefined;
  /** The file of the database. */
  readonly database: string;
  /** Whether other threads listen on the same ports. */
  readonly sharesPorts: boolean;
  /** The memory of limits, in which `index` is the number of the thread. */
  readonly limitMemory: SharedLimitMemory;
  /** See `ThreadSignals`. */
  readonly signals: SharedArrayBuffer;
  /** The gateway's clock at an instant of `process.hrtime`, which all threads share. */
  readonly clock: { readonly now: number; readonly hrtime: bigint };
  /** `PostedState`, in order. */
  readonly states: MessagePort;
  /** `HandedRequest` to the main thread, `HandedResponse` back. */
  readonly requests: MessagePort;
  /** For `measureThread`. */
  readonly metrics: MessagePort;
}

/** What the main thread posts whenever it changes. */
export interface ThreadState {
  /** All registered federations. */
  readonly stubs?: readonly StubRegistration[];
  /** Leases that go on although the disk did not take their renewal, in times of the gateway's clock. */
  readonly held?: ReadonlyMap<string, ClusterMeta>;
}

/** A state as threads get it. */
export interface PostedState extends ThreadState {
  /** What `ThreadSignals.posted` is, at least, when every thread has it. */
  readonly number: number;
}
/** What the main thread orders. */
export type ThreadOrder =
  | { readonly order: "start"; readonly start: ThreadStart }
  /** Its addresses have the ports that other threads listen on already. */
  | { readonly order: "listen"; readonly config: ServeConfig }
  | { readonly order: "renew"; readonly tls: ServerTls }
  | { readonly order: "stop"; readonly grace: number };

/** What an answering thread reports. */
export type ThreadReport =
  /** It could answer, and waits for the order to listen. */
  | { readonly report: "prepared" }
  | { readonly report: "listening"; readonly port: number; readonly places: readonly ListeningPlace[] }
  /** It cannot start, because of the settings if `isUsage`. */
  | { readonly report: "failed"; readonly message: string; readonly isUsage: boolean }
  /** It read a damaged row. */
  | { readonly report: "damage"; readonly cluster: string }
  /** Its last connection has ended. */
  | { readonly report: "stopped" };
