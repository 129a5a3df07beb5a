/**
 * `clusterset-doh`: a gateway as a Hono application, on every host that has `fetch`, `Request` and
 * `Response`.
 */
import type * as z from "zod";

export type { Client } from "../access/client.ts";
export type { Log, LogFields } from "../assembly/log.ts";
export { UsageError } from "../config/values.ts";
export type { Clock } from "../gateway/clock.ts";

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { Client } from "../access/client.ts";
import { assemble } from "../assembly/assemble.ts";
import { createEdgeAccess } from "../assembly/credentials.ts";
import { type Log, logJson } from "../assembly/log.ts";
import { fetchUpstreams } from "../assembly/out-of-zone.ts";
import { VERSION } from "../assembly/stages.ts";
import { isStated } from "../config/access.ts";
import { readEdgeConfig, readPushCredentials } from "../config/edge-config.ts";
import type { EdgeConfig, EdgePushCredentials } from "../config/settings.ts";
import { UsageError } from "../config/values.ts";
import { overSqlite, type SqliteConnection } from "../database/driver.ts";
import { migrate } from "../database/schema.ts";
import { SERVICE_EXPLAINER } from "../explain/service.ts";
import { type Clock, createSteadyClock, systemClock } from "../gateway/clock.ts";

export { createSteadyClock, systemClock, VERSION };

/**
 * The settings of the config file that are not about its server (docs/reference/configuration.md). `access`
 * is needed: a library does not know which network its host listens on.
 */
export type GatewaySettings = z.input<typeof EdgeConfig> &
  Required<Pick<z.input<typeof EdgeConfig>, "access">>;

/** What a cluster pushes with: an entry of `push.credentials`, with the SHA-256 of its token or with OIDC. */
export type PushCredential = z.input<typeof EdgePushCredentials>[number];

/** What a gateway is made of. */
export interface GatewayOptions {
  readonly settings: GatewaySettings;
  /** Default: no cluster may push. */
  readonly pushCredentials?: readonly PushCredential[];
  /**
   * What the host knows about the sender of a request; limits and rules by address need the address. Default:
   * nothing. Hono's `getConnInfo` has the address on most hosts.
   */
  readonly client?: (context: Context) => Partial<Client>;
  /** Default: lines of JSON on the console. */
  readonly log?: Log;
  /**
   * What leases run on. Default: the wall clock. A process that lives takes `createSteadyClock()`, which
   * cannot be set.
   */
  readonly clock?: Clock;
}

/**
 * A gateway within a program. It holds snapshots in memory: after a restart the sync workers push them again.
 */
export interface EmbeddedGateway {
  /** Takes every path: `own.route("/", gateway.app)` after the program's own routes. */
  readonly app: Hono;
  /** Answers a request, for programs without Hono. */
  fetch(request: Request, client?: Partial<Client>): Promise<Response>;
  /** Ends timers; requests must have ended. */
  close(): Promise<void>;
}

/**
 * Creates a gateway that answers `/dns-query`, JSON, the push API and the pages.
 * @throws {UsageError} with each wrong setting or credential, and on a host without SQLite
 */
export async function createGateway(options: GatewayOptions): Promise<EmbeddedGateway> {
  const { settings, pushCredentials = [], client = () => ({}), log = logJson, clock = systemClock } = options;
  const config = readEdgeConfig(settings);
  if (!isStated(config.access))
    throw new UsageError("access: is needed: { public: true } answers every client, rules restrict them");
  const pushing = readPushCredentials(pushCredentials, "pushCredentials");
  const { authority, grants, exportLimits, ...identities } = createEdgeAccess(config, pushing, log);
  const assembly = await assemble(config, {
    ...identities,
    clock,
    log,
    upstreams: fetchUpstreams(config.forward),
    openApi: () => import("../http/openapi/document.ts"),
    generations: { database: openMemory(), authority, grants, exportLimits, explainer: SERVICE_EXPLAINER },
  });
  const gateway = assembly.app;
  return {
    app: new Hono().all("*", (context) => gateway.fetch(context.req.raw, client(context))),
    fetch: async (request, from) => gateway.fetch(request, from),
    close: () => assembly.close(),
  };
}

/** What Node.js, Deno and Bun have. An import would keep the module from loading on other hosts. */
interface HostWithSqlite {
  readonly process?: { getBuiltinModule?(id: "node:sqlite"): SqliteModule | undefined };
}

interface SqliteModule {
  readonly DatabaseSync: new (path: string) => SqliteConnection & { close(): void };
}

/** An empty database in memory. */
function openMemory() {
  const sqlite = (globalThis as HostWithSqlite).process?.getBuiltinModule?.("node:sqlite");
  if (sqlite === undefined) throw new UsageError("a gateway needs a host with SQLite: Node.js, Deno or Bun");
  const connection = new sqlite.DatabaseSync(":memory:");
  const database = overSqlite(connection);
  migrate(database);
  return { ...database, close: () => connection.close() };
}
