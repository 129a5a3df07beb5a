import { stubZoneNames } from "../../config/federations.ts";
import { type Forward, type OutsideZones, upstreamName } from "../../config/forward.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import { parseNameserver } from "../../forward/nameserver.ts";
import { padded, type Upstream } from "../../forward/upstream.ts";
import { createOutside, type OutsideAnswering } from "../settings/outside.ts";
import type { Logger } from "./logger.ts";
import { readCertificates } from "./tls.ts";
import { readToken } from "./token-file.ts";
import { createDohUpstream } from "./upstreams/doh-upstream.ts";
import { createPlainUpstream } from "./upstreams/plain-upstream.ts";

/** How names outside the zones are answered on Node. */
export interface OutsideHost extends OutsideAnswering {
  /** Reads token files again. @throws {UsageError} naming the one that cannot be read */
  refresh(): Promise<void>;
  /** Lets go of connections to upstreams. */
  close(): void;
}

/**
 * Opens the way to upstreams: DNS over HTTPS, and plain DNS.
 * @param listeners policies of listeners other than HTTP
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openOutside(
  config: ServeConfig,
  logger: Logger,
  listeners: readonly OutsideZones[] = [],
): Promise<OutsideHost> {
  const { forward } = config;
  const tokens = new Map<string, string>();
  const refresh = async () => {
    for (const { tokenFile } of forward.upstreams)
      if (tokenFile !== undefined) tokens.set(tokenFile, await readToken(tokenFile));
  };
  await refresh();
  const upstreams = await Promise.all(
    forward.upstreams.map((upstream) => connect(upstream, forward, tokens)),
  );
  const answering = createOutside(config, {
    upstreams,
    stubZones: stubZoneNames(config.stub, config.federations),
    listeners,
    onUpstreamChange: (upstream, error) => {
      if (error === undefined)
        logger.info({ event: "upstream-answers", upstream }, `${upstream} answers again`);
      else
        logger.warn(
          { event: "upstream-failed", upstream, reason: error.message },
          `${upstream} did not answer: ${error.message}`,
        );
    },
  });
  return {
    ...answering,
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
