import type { PushAuthority } from "../../access/push-authority.ts";
import type { Grants } from "../../merge/grants.ts";
import { type EdgeConfig, readEdgeConfig, readPushCredentials } from "../settings/edge-config.ts";
import { createEdgeAuthority, grantsOf } from "../settings/push-credentials.ts";
import { log } from "./event-log.ts";

/** What wrangler.toml binds, and the secrets. */
export interface Environment {
  readonly CLUSTERSET: DurableObjectNamespace;
  /** The settings; see `EdgeConfig`. */
  readonly CONFIG?: unknown;
  /** Who may push which clusters; see `EdgePushCredential`. */
  readonly PUSH_CREDENTIALS?: string;
}

/** The settings of a Worker, read once for each isolate. */
export interface WorkerSettings {
  readonly config: EdgeConfig;
  readonly authority: PushAuthority;
  readonly grants: Grants;
  readonly canPush: boolean;
}

/** @throws {UsageError} naming each key that is wrong */
export function readSettings(environment: Environment): WorkerSettings {
  const list = readPushCredentials(environment.PUSH_CREDENTIALS);
  return {
    config: readEdgeConfig(environment.CONFIG),
    authority: createEdgeAuthority(list, {
      onFailure: (url, error) =>
        log("warn", "keys-unavailable", "the keys of an issuer could not be fetched", { url, error }),
    }),
    grants: grantsOf(list),
    canPush: list.length > 0,
  };
}
