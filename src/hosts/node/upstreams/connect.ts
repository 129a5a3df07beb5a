import type { ServeConfig } from "../../../config/serve-config.ts";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import type { Upstream } from "../../../forward/upstreams/upstream.ts";
import { readToken } from "../access/token-file.ts";
import { readCertificates } from "../tls/tls.ts";
import { createDohUpstream } from "./doh-upstream.ts";
import { createPlainUpstream } from "./plain-upstream.ts";

type Configured = ServeConfig["stub"]["upstreams"];

interface Access {
  readonly ca: string | undefined;
  token: string | undefined;
}

/**
 * Connects to name servers. Certificates and tokens belong to an origin of the config, so a registered stub
 * zone cannot send a token elsewhere.
 */
export class UpstreamConnector {
  readonly #configured: Configured;
  readonly #access = new Map<string, Access>();

  private constructor(configured: Configured) {
    this.#configured = configured;
  }

  /** @throws {UsageError} naming the file that cannot be read */
  static async load(configured: Configured): Promise<UpstreamConnector> {
    const connector = new UpstreamConnector(configured);
    for (const { origin, caFile, tokenFile } of configured)
      connector.#access.set(new URL(origin).origin, {
        ca: caFile === undefined ? undefined : await readCertificates(caFile),
        token: tokenFile === undefined ? undefined : await readToken(tokenFile),
      });
    return connector;
  }

  /** Reads the token files again. @throws {UsageError} naming the unreadable one */
  async refresh(): Promise<void> {
    for (const { origin, tokenFile } of this.#configured)
      if (tokenFile !== undefined)
        this.#access.get(new URL(origin).origin)!.token = await readToken(tokenFile);
  }

  /** @throws {UsageError} for an invalid name server */
  connect(nameserver: string): Upstream {
    const place = parseNameserver(nameserver);
    if (place === undefined) throw new UsageError(`${JSON.stringify(nameserver)} is not a name server`);
    if (place.kind === "plain") return createPlainUpstream(nameserver, place);
    const access = this.#access.get(place.url.origin);
    return createDohUpstream(nameserver, place.url, { ca: access?.ca, token: () => access?.token });
  }
}
