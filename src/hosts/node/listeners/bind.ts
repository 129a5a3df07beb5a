import { parseListenAddress } from "../../../config/values.ts";
import { listenerFailure, listenFailure, NoSuchAddress } from "../process.ts";

/** An open listener. */
export interface Bound {
  readonly port: number;
  /** Stops accepting; resolves when all connections have ended, after `grace` milliseconds at the latest. */
  close(grace: number): Promise<void>;
}

/** Starts to listen on one address. @throws the network's error */
export type OpenBound = (host: string, port: number) => Promise<Bound>;

interface Place {
  readonly host: string;
  /** Whether a machine may lack the address family. */
  readonly isOptional: boolean;
}

/** The most attempts for port 0: the port must be free for UDP and TCP on every address. */
const MOST_ATTEMPTS = 20;

/**
 * Listens on every address of `HOST:PORT`, each with all of `opens`, and all on the same port.
 * @param kind the setting that contains the address
 * @returns the listeners and the port
 * @throws {UsageError} if it cannot listen on an address; then all are closed again
 */
export async function bindAll(
  address: string,
  opens: readonly OpenBound[],
  kind: "dns" | "dot",
): Promise<{ readonly bound: readonly Bound[]; readonly port: number }> {
  const { host, port } = parseListenAddress(address);
  for (let attempt = 1; ; attempt++) {
    const bound: Bound[] = [];
    try {
      for (const place of placesOf(host)) await bindPlace(place, bound[0]?.port ?? port, opens, kind, bound);
      return { bound, port: bound[0]!.port };
    } catch (error) {
      await Promise.all(bound.map((one) => one.close(0)));
      if (port !== 0 || bound.length === 0 || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/** "All addresses" are those of IPv4 and those of IPv6, so that clients have their own addresses. */
function placesOf(host: string | undefined): Place[] {
  if (host === "localhost")
    return [
      { host: "127.0.0.1", isOptional: false },
      { host: "::1", isOptional: true },
    ];
  if (host !== undefined) return [{ host, isOptional: false }];
  return [
    { host: "0.0.0.0", isOptional: false },
    { host: "::", isOptional: true },
  ];
}

async function bindPlace(
  { host, isOptional }: Place,
  wanted: number,
  opens: readonly OpenBound[],
  kind: "dns" | "dot",
  bound: Bound[],
): Promise<void> {
  let port = wanted;
  for (const open of opens)
    try {
      const one = await open(host, port);
      bound.push(one);
      port = one.port;
    } catch (error) {
      const cause = error as NodeJS.ErrnoException;
      if (isOptional && listenFailure(cause, { host, port }) instanceof NoSuchAddress) return;
      throw listenerFailure(cause, { host, port }, kind);
    }
}
