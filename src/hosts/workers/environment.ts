import { type Credentials, createCredentials } from "../../http/credentials.ts";
import { type EdgeConfig, readAllPushCredentials, readEdgeConfig } from "../settings/edge-config.ts";

/** What wrangler.toml binds, and the secrets. */
export interface Environment {
  readonly CLUSTERSET: DurableObjectNamespace;
  /** The settings; see `EdgeConfig`. */
  readonly CONFIG?: unknown;
  /** Which tokens may push which clusters, as SHA-256 hashes. More of them in `PUSH_CREDENTIALS_2` and so on: a secret has 5 KB. */
  readonly PUSH_CREDENTIALS?: string;
}

/** The settings of a Worker, read once for each isolate. */
export interface WorkerSettings {
  readonly config: EdgeConfig;
  readonly credentials: Credentials;
  readonly canPush: boolean;
}

/** @throws {UsageError} naming each key that is wrong */
export function readSettings(environment: Environment): WorkerSettings {
  const list = readAllPushCredentials(environment);
  return {
    config: readEdgeConfig(environment.CONFIG),
    credentials: createCredentials(list),
    canPush: list.length > 0,
  };
}
