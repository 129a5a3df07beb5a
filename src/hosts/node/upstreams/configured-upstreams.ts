import { type Forward, upstreamName } from "../../../config/forward.ts";
import { parseNameserver } from "../../../forward/local.ts";
import { padded, type Upstream } from "../../../forward/upstreams/upstream.ts";
import { readToken } from "../access/token-file.ts";
import { readCertificates } from "../tls/tls.ts";
import { createDohUpstream } from "./doh-upstream.ts";
import { createPlainUpstream } from "./plain-upstream.ts";

/** Connections to upstreams: DNS over HTTPS, and plain DNS. */
export interface NodeUpstreams {
  readonly upstreams: readonly Upstream[];
  /** Reads token files again. @throws {UsageError} naming the one that cannot be read */
  refresh(): Promise<void>;
  close(): void;
}

/**
 * Opens the connections to the upstreams that are configured.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openUpstreams(forward: Forward): Promise<NodeUpstreams> {
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
    ...{ upstreams, refresh },
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
