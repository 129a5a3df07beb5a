import { createHash } from "node:crypto";
import { Gateways } from "../../hosts/gateways.ts";
import type { HostSettings } from "../host-under-test.ts";

const TRANSFER_TOKEN = "transfer-token";

/** A Node gateway that a secondary takes its image from. */
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
  const transfer = { credentials: [{ tokenSha256 }] };
  const { url } = await gateways.start(gateways.folder(), { ...settings, transfer, tls: false });
  const { push, ...shared } = settings;
  return {
    url,
    environment: {
      CLUSTERSET_PRIMARY_URL: url,
      CLUSTERSET_TRANSFER_TOKEN: TRANSFER_TOKEN,
      CONFIG: JSON.stringify({ access: { public: true }, ...shared }),
      PUSH_CREDENTIALS: JSON.stringify(push?.credentials ?? []),
    },
    stop: () => gateways.close(),
  };
}
