import { createHash } from "node:crypto";
import type * as z from "zod";
import type { ServeConfig } from "../../src/config/settings.ts";
import type { Fetch } from "./http-case.ts";

/** A config file. */
export type Config = z.input<typeof ServeConfig>;

/** The keys of the config file that a host is started with; every other one has its default. */
export type HostSettings = Pick<
  Config,
  | "access"
  | "zones"
  | "federations"
  | "sourceCluster"
  | "lease"
  | "services"
  | "publicUrl"
  | "cors"
  | "push"
  | "limits"
>;

/** A host that the suite runs against. */
export interface HostUnderTest {
  readonly name: string;
  /** Whether its test client can name another host (RFC 9110 section 7.2). */
  readonly takesHostNames?: boolean;
  /** Starts it with nothing pushed yet. */
  start(settings: HostSettings): Promise<RunningHost>;
}

/** A host that runs. */
export interface RunningHost {
  /** Sends a request to it, as its clients would. Of the URL only path and query count. */
  readonly fetch: Fetch;
  /** Sends a request as a sync worker does, by HTTP/1.1; absent where `fetch` does. */
  readonly workerFetch?: Fetch;
  /** Lets that many milliseconds pass at once; absent where the host has a clock of its own. */
  readonly pass?: (milliseconds: number) => void;
  stop(): Promise<void>;
}

/** The credentials in a config file of clusters with these tokens. */
export function credentialsOf(
  tokens: readonly { readonly clusterId: string; readonly token: string }[],
): NonNullable<NonNullable<Config["push"]>["credentials"]> {
  return tokens.map(({ clusterId, token }) => ({
    clusterId,
    tokenSha256: createHash("sha256").update(token).digest("hex"),
  }));
}
