import type { ServeConfig } from "../settings/serve-config.ts";
import { keepSelfSigned, readCertificates, readIdentity, type ServerTls } from "./tls.ts";

/** Where a server's certificate, and those of the authorities that it trusts clients by, come from, now and later. */
export interface TlsSource {
  readonly tls: ServerTls;
  /** The certificate's file where it is self-signed, for clients to trust. */
  readonly selfSignedFile: string | undefined;
  /** The certificates where they are others than the last ones. @throws {UsageError} where they cannot be read */
  refresh(): Promise<ServerTls | undefined>;
}

/** The source that the config asks for; undefined without TLS. */
export async function openTlsSource(
  { tls, stateDirectory }: Pick<ServeConfig, "tls" | "stateDirectory">,
  host: string | undefined,
): Promise<TlsSource | undefined> {
  if (tls === false) return undefined;
  const { certificateFile, keyFile, clientCaFile } = tls === true ? {} : tls;
  const read = async (): Promise<ServerTls & { readonly certificateFile?: string }> => {
    const identity =
      certificateFile === undefined || keyFile === undefined
        ? await keepSelfSigned(stateDirectory, host, Date.now())
        : await readIdentity(certificateFile, keyFile);
    return clientCaFile === undefined
      ? identity
      : { ...identity, clientCa: await readCertificates(clientCaFile) };
  };
  const first = await read();
  let served: ServerTls = first;
  return {
    tls: first,
    selfSignedFile: first.certificateFile,
    refresh: async () => {
      const next = await read();
      if (next.cert === served.cert && next.clientCa === served.clientCa) return undefined;
      served = next;
      return next;
    },
  };
}
