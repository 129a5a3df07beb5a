import type { ServeConfig } from "../../../config/serve-config.ts";
import { canonical, namesInCertificate } from "../../../config/serve-config.ts";
import { UsageError } from "../../../config/values.ts";
import { isCertificateFor, keepSelfSigned, readCertificates, readIdentity, type ServerTls } from "./tls.ts";

/** The source of a server's certificates, which may change while it runs. */
export interface TlsSource {
  /** The certificates in use: those of the start, until `refresh` finds others. */
  readonly tls: ServerTls;
  /** The file of a self-signed certificate, which clients need in order to trust it. */
  readonly selfSignedFile: string | undefined;
  /** The certificates if they changed; undefined if not. @throws {UsageError} if they cannot be read */
  refresh(): Promise<ServerTls | undefined>;
}

/**
 * The source that the config names; undefined without TLS.
 * @param host that the gateway listens on; undefined, and `0.0.0.0` and `::`, for every address
 * @throws {UsageError} if certificates cannot be read, or the server's does not name the designated resolver
 */
export async function openTlsSource(
  config: Pick<ServeConfig, "tls" | "stateDirectory" | "publicUrl" | "dns" | "dot" | "ddr" | "access">,
  host: string | undefined,
): Promise<TlsSource | undefined> {
  const { tls, stateDirectory, ddr } = config;
  if (tls === false) return undefined;
  const isEvery = host === "0.0.0.0" || host === "::";
  const { certificateFile, keyFile, clientCaFile } = tls === true ? {} : tls;
  const read = async (): Promise<ServerTls & { readonly certificateFile?: string }> => {
    const identity =
      certificateFile === undefined || keyFile === undefined
        ? await keepSelfSigned(
            stateDirectory,
            isEvery ? undefined : host,
            Date.now(),
            namesInCertificate(config),
          )
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
