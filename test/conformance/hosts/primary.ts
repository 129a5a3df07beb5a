import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Gateways } from "../../hosts/gateways.ts";
import type { HostSettings } from "../host-under-test.ts";

const TRANSFER_TOKEN = "transfer-token";
const TRANSFER_KEY = "transfer-key".padEnd(43, "-");

/** A Node gateway that a secondary takes its generations from. */
export interface PrimaryHost {
  readonly url: string;
  /** The environment variables of a secondary with the same settings. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts the primary of a secondary that is to have these settings. */
export async function startPrimary(settings: HostSettings): Promise<PrimaryHost> {
  const gateways = new Gateways();
  const tokenSha256 = createHash("sha256").update(TRANSFER_TOKEN).digest("hex");
  const folder = gateways.folder();
  writeFileSync(join(folder, "transfer.key"), TRANSFER_KEY, { mode: 0o600 });
  const transfer = { credentials: [{ tokenSha256 }], keyFile: "transfer.key" };
  const { url } = await gateways.start(folder, { ...settings, transfer, tls: false });
  const { push, ...shared } = settings;
  return {
    url,
    environment: {
      CLUSTERSET_PRIMARY_URL: url,
      CLUSTERSET_TRANSFER_TOKEN: TRANSFER_TOKEN,
      CLUSTERSET_TRANSFER_KEYS: TRANSFER_KEY,
      CONFIG: JSON.stringify({ access: { public: true }, ...shared }),
      PUSH_CREDENTIALS: JSON.stringify(push?.credentials ?? []),
    },
    stop: () => gateways.close(),
  };
}
