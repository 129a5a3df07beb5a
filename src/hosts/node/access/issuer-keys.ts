import { readFile } from "node:fs/promises";
import type { Dispatcher } from "undici";
import { type FetchKeys, inlineKeys, type KeySource, PrivateKeyShown } from "../../../access/oidc.ts";
import { keySourceOf } from "../../../assembly/credentials.ts";
import type { IssuedTokens } from "../../../config/access.ts";
import { UsageError } from "../../../config/values.ts";
import { readToken } from "../files.ts";
import { readCertificates } from "../tls.ts";

/** The keys of one issuer, and their files. */
export class IssuerKeys {
  readonly #configured: IssuedTokens;
  /** Undefined until the file was read, if the keys are in a file. */
  #keys: KeySource | undefined;
  #text = "";
  #token: string | undefined;
  #ca: string | undefined;
  /** By origin: discovery may lead to another one. */
  readonly #dispatchers = new Map<string, Dispatcher>();

  private constructor(configured: IssuedTokens) {
    this.#configured = configured;
  }

  /** @throws {UsageError} naming the file that cannot be read */
  static async load(
    configured: IssuedTokens,
    onFailure: (url: string, error: unknown) => void,
  ): Promise<IssuerKeys> {
    const loaded = new IssuerKeys(configured);
    await loaded.refresh();
    loaded.#keys ??= keySourceOf(configured, { fetch: (...asked) => loaded.#fetch(...asked), onFailure });
    return loaded;
  }

  /** The source of keys, which stays valid after a refresh. */
  get source(): KeySource {
    return { key: (header, token) => this.#keys!.key(header, token) };
  }

  /**
   * Reads the files again. If that fails, the keys that were read last stay in force.
   * @returns whether the keys in a file changed
   * @throws {UsageError} naming the file that cannot be read
   */
  async refresh(): Promise<boolean> {
    const { jwksFile, caFile, tokenFile } = this.#configured;
    if (tokenFile !== undefined) this.#token = await readToken(tokenFile);
    const ca = caFile === undefined ? undefined : await readCertificates(caFile);
    if (ca !== this.#ca) {
      this.#ca = ca;
      await this.close();
    }
    if (jwksFile === undefined) return false;
    const text = await readKeys(jwksFile);
    if (text === this.#text) return false;
    try {
      this.#keys = inlineKeys(JSON.parse(text));
    } catch (error) {
      if (error instanceof PrivateKeyShown) throw new UsageError(`${jwksFile}: ${error.message}`);
      throw new UsageError(`${jwksFile} holds no key set: kubectl get --raw /openid/v1/jwks > ${jwksFile}`);
    }
    this.#text = text;
    return true;
  }

  /** Closes the connections; requests from now on open new ones. */
  async close(): Promise<void> {
    const open = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.all(open.map((one) => one.destroy()));
  }

  async #fetch(...[url, request]: Parameters<FetchKeys>): Promise<Response> {
    const headers = {
      ...request.headers,
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
    };
    // Keys in files need no client, which takes 90 ms of CPU time to load, in each thread.
    const [{ fetch }, { openDispatcher }] = await Promise.all([
      import("undici"),
      import("../../../outgoing/dispatcher.ts"),
    ]);
    const { origin } = new URL(url);
    const dispatcher =
      this.#dispatchers.get(origin) ?? openDispatcher(new URL(url), { tls: { ca: this.#ca } });
    this.#dispatchers.set(origin, dispatcher);
    return (await fetch(url, { ...request, headers, dispatcher })) as unknown as Response;
  }
}

async function readKeys(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the key set: ${(error as Error).message}`);
  }
}
