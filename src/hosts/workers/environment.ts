import type { PushAuthority } from "../../access/authority.ts";
import { createClientAddress } from "../../access/client/client-address.ts";
import type { AccessControl } from "../../access/rules/admit.ts";
import { type EdgeConfig, readAllPushCredentials, readEdgeConfig } from "../../config/edge-config.ts";
import { createEdgeAuthority, grantsOf } from "../../config/push-credentials.ts";
import type { Grants } from "../../merge/grants.ts";
import { describeError, logJson } from "../logging/json-log.ts";
import { createEdgeAdmission } from "../settings/edge-admission.ts";

/** What wrangler.toml binds, and the secrets. */
export interface Environment {
  readonly CLUSTERSET: DurableObjectNamespace;
  /** The settings; see `EdgeConfig`. */
  readonly CONFIG?: unknown;
  /**
   * Who may push which clusters; see `EdgePushCredential`. More of them in `PUSH_CREDENTIALS_2` and so on: a secret has 5 KB.
   */
  readonly PUSH_CREDENTIALS?: string;
}

/** The settings of a Worker, read once for each isolate. */
export interface WorkerSettings {
  readonly config: EdgeConfig;
  readonly authority: PushAuthority;
  readonly grants: Grants;
  readonly canPush: boolean;
  readonly access: AccessControl;
}

/** @throws {UsageError} naming each key that is wrong */
export function readSettings(environment: Environment): WorkerSettings {
  const list = readAllPushCredentials(environment);
  const config = readEdgeConfig(environment.CONFIG);
  const canPush = list.length > 0;
  const keys = {
    onFailure: (url: string, error: unknown) =>
      logJson(
        "warn",
        "keys-unavailable",
        `the keys of an issuer could not be fetched: ${describeError(error)}`,
        { url },
      ),
  };
  return {
    config,
    authority: createEdgeAuthority(list, keys),
    grants: grantsOf(list),
    canPush,
    access: createEdgeAdmission({
      access: config.access,
      clientAddress: createClientAddress(config.clients),
      ...{ canPush, keys },
    }),
  };
}
