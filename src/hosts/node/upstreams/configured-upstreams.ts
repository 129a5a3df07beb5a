import { type Forward, upstreamName } from "../../../config/forward.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import { padded, type Upstream } from "../../../forward/upstream.ts";
import { readToken } from "../files.ts";
import { readCertificates } from "../tls.ts";
import { createDohUpstream } from "./doh-upstream.ts";
import { createPlainUpstream } from "./plain-upstream.ts";

/**
 * Opens the connections to the upstreams that are configured: DNS over HTTPS, and plain DNS.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openUpstreams(forward: Forward) {
  const tokens = new Map<string, string>();
  const refresh = async () => {
    for (const { tokenFile } of forward.upstreams)
      if (tokenFile !== undefined) tokens.set(tokenFile, await readToken(tokenFile));
  };
  await refresh();
  const upstreams = await Promise.all(
    forward.upstreams.map((upstream) => connect(upstream, forward, tokens)),
  );
  return {
    upstreams,
    /** Reads token files again. @throws {UsageError} naming the one that cannot be read */
    refresh,
    close: () => {
      for (const upstream of upstreams) upstream.close();
    },
  };
}

async function connect(
  configured: Forward["upstreams"][number],
  { randomizeCase }: Forward,
  tokens: ReadonlyMap<string, string>,
): Promise<Upstream> {
  const { server, addresses, caFile, tokenFile } = configured;
  const name = upstreamName(configured);
  const place = parseNameserver(server)!;
  if (place.kind === "plain") return createPlainUpstream(name, place, { randomizeCase });
  return padded(
    createDohUpstream(name, place.url, {
      ca: caFile === undefined ? undefined : await readCertificates(caFile),
      token: () => (tokenFile === undefined ? undefined : tokens.get(tokenFile)),
      addresses: addresses.length > 0 ? addresses : undefined,
    }),
  );
}

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
