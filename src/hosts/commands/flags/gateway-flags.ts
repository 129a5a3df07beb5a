import { UsageError } from "../../../config/values.ts";
import { readIdentity, type TlsIdentity } from "../../node/tls/tls.ts";

/** Flags of commands that connect to gateways. */
export interface GatewayFlags {
  readonly tokenFile?: string | undefined;
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Reads the client certificate with each call; undefined without one. @throws {UsageError} if a flag is missing */
export function identityOf(flags: GatewayFlags): (() => Promise<TlsIdentity>) | undefined {
  const { clientCertFile: certificate, clientKeyFile: key } = flags;
  if (certificate !== undefined && key !== undefined) return () => readIdentity(certificate, key);
  if (certificate === key) return undefined;
  throw new UsageError("--client-cert-file and --client-key-file go together");
}

/**
 * The address of a gateway.
 * @param option that has it. @param hint what an error says beside that
 * @throws {UsageError} for any other text
 */
export function readGatewayUrl(option: string, text: string, hint = ""): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.username === "")
    return url;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is not an address such as https://doh.example:8443${hint}`,
  );
}
