import { canonical, namesInCertificate } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import { UsageError } from "../../../config/values/usage-error.ts";
import { isCertificateFor, keepSelfSigned, readCertificates, readIdentity, type ServerTls } from "./tls.ts";

/** Where a server's certificate, and those of the authorities that it trusts clients by, come from, now and later. */
export interface TlsSource {
  /** What is served: that of the start, until `refresh` finds another. */
  readonly tls: ServerTls;
  /** The certificate's file where it is self-signed, for clients to trust. */
  readonly selfSignedFile: string | undefined;
  /** The certificates where they are others than the last ones. @throws {UsageError} where they cannot be read */
  refresh(): Promise<ServerTls | undefined>;
}

/**
 * The source that the config asks for; undefined without TLS.
 * @throws {UsageError} where certificates cannot be read, or the one given is not for the designated resolver's name
 */
export async function openTlsSource(
  config: Pick<ServeConfig, "tls" | "stateDirectory" | "dns" | "dot" | "ddr" | "access">,
  host: string | undefined,
): Promise<TlsSource | undefined> {
  const { tls, stateDirectory, ddr } = config;
  if (tls === false) return undefined;
  const { certificateFile, keyFile, clientCaFile } = tls === true ? {} : tls;
  const read = async (): Promise<ServerTls & { readonly certificateFile?: string }> => {
    const identity =
      certificateFile === undefined || keyFile === undefined
        ? await keepSelfSigned(stateDirectory, host, Date.now(), namesInCertificate(config))
        : await readIdentity(certificateFile, keyFile);
    if (ddr.name !== undefined && !isCertificateFor(identity.cert, canonical(ddr.name)))
      throw new UsageError(
        `ddr.name: the certificate in ${certificateFile} is not for ${ddr.name}, so no client would believe it`,
      );
    return clientCaFile === undefined
      ? identity
      : { ...identity, clientCa: await readCertificates(clientCaFile) };
  };
  const first = await read();
  let served: ServerTls = first;
  return {
    get tls() {
      return served;
    },
    selfSignedFile: first.certificateFile,
    refresh: async () => {
      const next = await read();
      if (next.cert === served.cert && next.clientCa === served.clientCa) return undefined;
      served = next;
      return next;
    },
  };
}
