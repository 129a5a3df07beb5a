import type { CertificateIdentity } from "../../access/certificates.ts";
import { clustersOfCertificate } from "../../access/certificates.ts";
import { createPushAuthority, type PushAuthority } from "../../access/push-authority.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import { UsageError } from "../../config/usage-error.ts";
import { IssuerKeys } from "./issuer-keys.ts";
import { TokenCredentials } from "./token-credentials.ts";

/** The authority over pushes on Node, whose files may change while the gateway runs. */
export interface NodePushAuthority extends PushAuthority {
  /** Whether a certificate is that of a cluster, and so of nobody else. */
  isOfCluster(identity: CertificateIdentity): boolean;
  /**
   * Reads the files again. What was read last stays in force where that fails.
   * @returns whether tokens or keys are others
   * @throws {UsageError} naming the file that cannot be read
   */
  refresh(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * @param onFailure is told when an issuer's keys could not be fetched
 * @throws {UsageError} naming the file that cannot be read, or what certificates lack
 */
export async function loadPushAuthority(
  config: Pick<ServeConfig, "push" | "tls">,
  onFailure: (url: string, error: unknown) => void,
): Promise<NodePushAuthority> {
  const { credentials } = config.push;
  const certificates = credentials.flatMap(({ clusterId, certificate }) =>
    certificate === undefined ? [] : { clusterId, ...certificate },
  );
  const clientCaFile = typeof config.tls === "object" ? config.tls.clientCaFile : undefined;
  if (certificates.length > 0 && clientCaFile === undefined)
    throw new UsageError("push.credentials: a certificate needs a trusted authority: give tls.clientCaFile");
  const secrets = await TokenCredentials.load(
    credentials.filter(({ tokenSha256, tokenFile }) => (tokenSha256 ?? tokenFile) !== undefined),
  );
  const issuers: IssuerKeys[] = [];
  const oidc = [];
  for (const { clusterId, oidc: issued } of credentials) {
    if (issued === undefined) continue;
    const keys = await IssuerKeys.load(issued, onFailure);
    issuers.push(keys);
    const { issuer, audience, subject } = issued;
    oidc.push({ holder: clusterId, issuer, audience, subjects: [subject].flat(), keys: keys.source });
  }
  return {
    ...createPushAuthority({ secrets, oidc, certificates }),
    isOfCluster: (identity) => clustersOfCertificate(certificates, identity).size > 0,
    refresh: async () => {
      const changed = [await secrets.refresh()];
      for (const keys of issuers) changed.push(await keys.refresh());
      return changed.includes(true);
    },
    close: async () => {
      await Promise.all(issuers.map((keys) => keys.close()));
    },
  };
}
