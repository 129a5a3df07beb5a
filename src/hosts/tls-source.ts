import type { ServeConfig } from "./config-schema.ts";
import { keepSelfSigned, readIdentity, type TlsIdentity } from "./tls.ts";

/** Where a server's certificate comes from, now and later. */
export interface TlsSource {
  readonly identity: TlsIdentity;
  /** The certificate's file where it is self-signed, for clients to trust. */
  readonly selfSignedFile: string | undefined;
  /** The certificate where it is another than the last one. @throws {UsageError} where it cannot be read */
  refresh(): Promise<TlsIdentity | undefined>;
}

/** The source that the config asks for; undefined without TLS. */
export async function openTlsSource(
  { tls, stateDirectory }: Pick<ServeConfig, "tls" | "stateDirectory">,
  host: string | undefined,
): Promise<TlsSource | undefined> {
  if (tls === false) return undefined;
  const read = (): Promise<TlsIdentity & { readonly certificateFile?: string }> =>
    tls === true
      ? keepSelfSigned(stateDirectory, host, Date.now())
      : readIdentity(tls.certificateFile, tls.keyFile);
  const identity = await read();
  let served = identity.cert;
  return {
    identity,
    selfSignedFile: identity.certificateFile,
    refresh: async () => {
      const next = await read();
      if (next.cert === served) return undefined;
      served = next.cert;
      return next;
    },
  };
}
