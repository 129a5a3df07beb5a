import { createHash } from "node:crypto";
import { type ClusterCredential, type Credentials, createCredentials } from "../../access/credentials.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import { readToken } from "./token-file.ts";

/** A token by its hash, or in a file. */
interface Configured {
  readonly clusterId: string;
  readonly tokenSha256?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** Whom the tokens of secondaries stand for, where those of workers stand for clusters. */
const SECONDARY = "secondary";

/** Credentials from the config; tokens in files may change while the gateway runs. */
export class TokenCredentials implements Credentials {
  readonly #configured: readonly Configured[];
  #digests = "";
  #current: Credentials = createCredentials([]);

  private constructor(configured: readonly Configured[]) {
    this.#configured = configured;
  }

  /** @throws {UsageError} naming the token file that cannot be read or is empty */
  static async load(configured: readonly Configured[]): Promise<TokenCredentials> {
    const credentials = new TokenCredentials(configured);
    await credentials.refresh();
    return credentials;
  }

  /** Those of secondaries. @throws {UsageError} naming the token file that cannot be read or is empty */
  static loadTransfer(configured: ServeConfig["transfer"]["credentials"]): Promise<TokenCredentials> {
    return TokenCredentials.load(configured.map((credential) => ({ clusterId: SECONDARY, ...credential })));
  }

  /**
   * Reads the token files again. What was read last stays in force where that fails.
   * @returns whether a token changed
   * @throws {UsageError} naming the token file that cannot be read or is empty
   */
  async refresh(): Promise<boolean> {
    const list = await Promise.all(this.#configured.map(readCredential));
    const digests = list.map(({ tokenSha256 }) => tokenSha256).join();
    if (digests === this.#digests) return false;
    this.#digests = digests;
    this.#current = createCredentials(list);
    return true;
  }

  clustersOf(authorization: string | undefined): Promise<ReadonlySet<string> | undefined> {
    return this.#current.clustersOf(authorization);
  }
}

async function readCredential({ clusterId, tokenSha256, tokenFile }: Configured): Promise<ClusterCredential> {
  if (tokenSha256 !== undefined) return { clusterId, tokenSha256 };
  const token = await readToken(tokenFile!);
  return { clusterId, tokenSha256: createHash("sha256").update(token).digest("hex") };
}
