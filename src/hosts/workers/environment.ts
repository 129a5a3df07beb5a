import { createEdgeAccess, type EdgeIdentities } from "../../assembly/credentials.ts";
import { logJson } from "../../assembly/log.ts";
import { type EdgeConfig, readAllPushCredentials, readEdgeConfig } from "../../config/edge-config.ts";

/** The bindings of wrangler.toml, and the secrets. */
export interface Environment {
  readonly CLUSTERSET: DurableObjectNamespace;
  /** The settings; see `EdgeConfig`. */
  readonly CONFIG?: unknown;
  /**
   * The credentials for pushing; see `EdgePushCredential`. More of them are in `PUSH_CREDENTIALS_2` and so on, since a secret has at most 5 KB.
   */
  readonly PUSH_CREDENTIALS?: string;
}

/** The settings of a Worker, read once for each isolate. */
export interface WorkerSettings extends EdgeIdentities {
  readonly config: EdgeConfig;
}

/** @throws {UsageError} with each wrong key */
export function readSettings(environment: Environment): WorkerSettings {
  const credentials = readAllPushCredentials(environment);
  const config = readEdgeConfig(environment.CONFIG);
  return { config, ...createEdgeAccess(config, credentials, logJson) };
}
