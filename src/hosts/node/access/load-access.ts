import type { ServeConfig } from "../../../config/serve-config.ts";
import { TransferKeyFile } from "../config/transfer-key.ts";
import type { Logger } from "../logger.ts";
import { NodeAdmission } from "./node-admission.ts";
import { loadPushAuthority, loadTransferAuthority, type NodeAuthority } from "./node-authority.ts";

/** The credentials of a gateway: of clusters that push, of secondaries, and of clients. */
export interface NodeAccess {
  readonly pushing: NodeAuthority;
  readonly secondaries: NodeAuthority;
  readonly admission: NodeAdmission;
  /** The key that a primary signs with; undefined if none is configured. */
  readonly transferKey: TransferKeyFile | undefined;
  /** Reads files again. @returns whether something changed */
  refresh(): Promise<boolean>;
  close(): Promise<void>;
}

/** @throws {UsageError} naming the file that cannot be read */
export async function loadAccess(config: ServeConfig, logger: Logger): Promise<NodeAccess> {
  const onFailure = (url: string, error: unknown) =>
    logger.warn({ event: "keys-unavailable", url, err: error }, "the keys of an issuer could not be fetched");
  const pushing = await loadPushAuthority(config, onFailure);
  const secondaries = await loadTransferAuthority(config);
  const { keyFile } = config.transfer;
  const transferKey = keyFile === undefined ? undefined : await TransferKeyFile.load(keyFile);
  const admission = await NodeAdmission.load(config, onFailure);
  if (config.push.credentials.length === 0)
    logger.warn({ event: "no-credentials" }, "no cluster may push: give push.credentials or --cluster-token");
  return {
    ...{ pushing, secondaries, admission, transferKey },
    refresh: async () => {
      const changed = await Promise.all([
        ...[pushing.refresh(), secondaries.refresh(), admission.refresh()],
        transferKey?.refresh() ?? false,
      ]);
      return changed.includes(true);
    },
    close: async () => {
      await Promise.all([pushing.close(), admission.close()]);
    },
  };
}
