import { AccessCounters, QueryCounters } from "../../../answer/answer-query.ts";
import { exportLimitsOf, grantsOf, isStated } from "../../../config/access.ts";
import { clientConnections, socketNetworks } from "../../../config/limits.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import type { StubStore } from "../../../forward/stub-zones.ts";
import { ClientNetworks, ClientRate } from "../../../limits/client-rate.ts";
import { anyLoad, ConnectionErrors, LoopDelay, RequestsInFlight } from "../../../limits/counters.ts";
import { type SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import { loadAccess } from "../access/node-admission.ts";
import { WatchedFiles } from "../files.ts";
import { type Logger, logTo } from "../process.ts";
import type { ServerProtection } from "../server/connections.ts";
import type { TlsSource } from "../tls.ts";
import { openConnector, openUpstreams } from "../upstreams/configured-upstreams.ts";
import { createGatewayAddresses } from "./addresses.ts";
import { openStubZones } from "./stub-zones.ts";

/** What every thread that answers has. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** What the parts of a thread depend on. */
interface PartsOrigin {
  readonly shared: SharedLimits;
  readonly logger: Logger;
  /** Says what is wrong with credentials. Default: `logger`. */
  readonly accessLogger?: Logger;
  /** Default: the state folder. */
  readonly stubStore?: StubStore;
  /** Of the pages, which the main thread answers. */
  readonly tls?: TlsSource | undefined;
  readonly isInClear: boolean;
}

/**
 * Opens what every thread that answers has: credentials, limits and counters, stub zones, upstreams.
 * @throws {UsageError} if the files of the configuration cannot be read
 */
export async function openParts(config: ServeConfig, origin: PartsOrigin, closers: Closers) {
  const { shared, logger, accessLogger = logger, tls, isInClear } = origin;
  const log = logTo(logger);
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  const files = new WatchedFiles();
  const access = closers.add(await loadAccess(config, files, accessLogger));
  const { admission, pushing } = access;
  const connect = await openConnector(config.stub, files);
  const forwarding = closers.add(await openUpstreams(config.forward, files));
  const queries = shared.count("stub");
  const stubs = closers.add(await openStubZones(config, connect, logger, queries, origin.stubStore));
  const counters = new QueryCounters(
    new ConnectionErrors((source, err) =>
      log("debug", "connection-error", "a connection failed", { source, err }),
    ),
  );
  const accessCounters = new AccessCounters();
  const { protection, load } = closers.add(createProtection(config, counters, shared));
  const addresses = createGatewayAddresses(config, admission.rules, tls);
  const { credentials } = config.push;
  return {
    onError,
    access,
    stubs,
    counters,
    accessCounters,
    protection,
    shared,
    addresses,
    /** For `assemble`. */
    platform: {
      log,
      access: admission,
      load,
      counters,
      accessCounters,
      shared,
      stubs,
      clusterTokens: credentials.length > 0 ? pushing : undefined,
      clusterIds: credentials.map(({ clusterId }) => clusterId),
      isOpenToItsNetwork: !isStated(config.access),
      isInClear,
      upstreams: forwarding.upstreams,
      designation: addresses.designation,
    },
    /** For its `generations`: what each cluster may report. */
    rights: { grants: grantsOf(credentials), exportLimits: exportLimitsOf(credentials) },
    files,
  };
}

/** Measures the load of this thread from now on, and counts connections and requests. */
function createProtection(
  { clients, limits }: Pick<ServeConfig, "clients" | "limits">,
  counters: QueryCounters,
  shared: SharedLimits,
) {
  const requests = new RequestsInFlight(limits.requestsInFlight, shared.count("requests"));
  const most = limits.loopDelayMilliseconds;
  const delay = most === 0 ? undefined : new LoopDelay(most, undefined, shared.count("overloaded"));
  const end = delay?.start();
  const protection: ServerProtection = {
    requests,
    counters: counters.limits,
    errors: counters.errors,
    connections: shared.count("connections"),
    leaving: shared.count("connections.leaving"),
    clients: {
      networks: new ClientNetworks(socketNetworks(clients)),
      connections: clients.connections,
      open: shared.clients("https"),
      rate: new ClientRate(clientConnections(clients), undefined, (rate) =>
        shared.buckets("connections", rate),
      ),
    },
  };
  return {
    protection,
    load: anyLoad(delay === undefined ? [requests] : [requests, delay]),
    /** Stops measuring. */
    close: () => end?.(),
  };
}

/** Allocates the limits of a process that has at most so many threads with connections. */
export function allocateLimits(
  { limits, dns, dot }: Pick<ServeConfig, "limits" | "dns" | "dot">,
  threads: number,
): SharedLimitMemory {
  const connections = { https: limits.connections, dns: dns.connections, dot: dot.connections };
  return SharedLimits.allocate({ threads, connections });
}

/** The limits of the process, for one of its threads. @param thread the number of this thread, from 0 */
export function openLimits(memory: SharedLimitMemory, thread: number): SharedLimits {
  return new SharedLimits(memory, thread, processClock());
}

/** A clock that all threads of the process have in common, in monotonic milliseconds. */
function processClock(): () => number {
  // `performance.now()` begins with its thread; hrtime is that of the machine, but takes longer to read.
  let [began, shortest] = [0, Number.POSITIVE_INFINITY];
  // A thread that has to wait between the two readings measures again.
  for (let reading = 0; reading < 5; reading++) {
    const before = performance.now();
    const machine = Number(process.hrtime.bigint()) / 1e6;
    const took = performance.now() - before;
    if (took < shortest) [began, shortest] = [machine - before, took];
  }
  return () => began + performance.now();
}

/** A part that is closed when the gateway stops. */
interface Closable {
  close(): unknown;
}

/** A listener. */
interface Stoppable {
  /** @param grace milliseconds for requests in progress */
  stop(grace: number): Promise<void>;
}

/**
 * The open parts of a gateway. They are closed when it stops or cannot start: listeners first, then the other
 * parts, the latest first.
 */
export class Closers {
  readonly #parts: Closable[] = [];
  readonly #servers: Stoppable[] = [];

  add<Part extends Closable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  addServer<Server extends Stoppable>(server: Server): Server {
    this.#servers.push(server);
    return server;
  }

  /** @param grace how long requests in progress may take to finish, in milliseconds */
  async close(grace: number): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop(grace)));
    for (const part of this.#parts.splice(0).reverse()) await part.close();
  }
}

/** The time between two checks of files, in milliseconds. */
const INTERVAL = 10_000;

/** Reads files again; if it fails, the values that were read last stay in force. */
type Refresher = () => Promise<void>;

/**
 * Calls all of them periodically, each again only once it has ended: a file system that does not answer holds
 * a thread for each call. A failure of one does not affect the others.
 */
export function startRefreshers(
  refreshers: readonly Refresher[],
  logger: Pick<Logger, "warn">,
): { close(): void } {
  const running = new Set<Refresher>();
  const timer = setInterval(() => {
    for (const refresh of refreshers) {
      if (running.has(refresh)) continue;
      running.add(refresh);
      refresh()
        .catch((error) =>
          logger.warn(
            { event: "refresh-failed", err: error },
            "files or keys could not be read again: the old ones stay in use",
          ),
        )
        .finally(() => running.delete(refresh));
    }
  }, INTERVAL).unref();
  return { close: () => clearInterval(timer) };
}
