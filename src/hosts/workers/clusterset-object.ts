import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono/tiny";
import { auditToLog, createAudit, type Log, logJson } from "../../assembly/log.ts";
import { openPrimary } from "../../assembly/primary.ts";
import { createStages } from "../../assembly/stages.ts";
import { overStorage } from "../../database/driver.ts";
import { migrate } from "../../database/schema.ts";
import { systemClock } from "../../gateway/clock.ts";
import { ownRouter } from "../../http/app.ts";
import { PUSH, TRANSFER } from "../../http/route-table.ts";
import { LeaseAlarm } from "./bindings.ts";
import { type Environment, readSettings } from "./edge-gateway.ts";

/** Cloudflare stops the clock while a Worker computes, so durations are not known here. */
const log: Log = (level, event, message, { milliseconds: _, ...fields } = {}) =>
  logJson(level, event, message, fields);

/**
 * The primary: takes pushes into its database, and gives isolates what they answer from. There is one for the
 * whole clusterset, and only the Worker reaches it. Its start reads the rows of clusters, and nothing else.
 */
export class ClustersetObject extends DurableObject<Environment> {
  /** Set before the first request, see the constructor. */
  #routes = new Hono();
  #leases: LeaseAlarm | undefined;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    state.blockConcurrencyWhile(() => this.#open(state.storage, environment));
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#routes.fetch(request);
  }

  override alarm(): void {
    this.#leases?.ring();
  }

  async #open(storage: DurableObjectStorage, environment: Environment): Promise<void> {
    const { config, authority, grants, exportLimits, access } = readSettings(environment);
    const leases = new LeaseAlarm(storage, await storage.getAlarm(), (err) =>
      log("error", "alarm-failed", "the object's alarm for the next lease could not be set", { err }),
    );
    const database = { ...overStorage(storage), close: () => {} };
    if (migrate(database))
      log("warn", "database-emptied", "the database had another format: workers push again");
    const { gateway, pushRoutes, transferRoutes } = await openPrimary(
      {
        config,
        log,
        stages: createStages(config, { grants, exportLimits }),
        access: {
          rules: access.rules,
          // The Worker passes requests on unchanged.
          clientAddress: (request) => request.header("cf-connecting-ip") ?? undefined,
        },
        clock: systemClock,
        audit: createAudit(config.audit, auditToLog(log)),
      },
      {
        database,
        watchLeases: (onDue) => {
          leases.onDue = onDue;
          return leases;
        },
        authority,
        transfer: "public",
      },
    );
    this.#leases = leases;
    this.#routes = ownRouter(new Hono()).route(PUSH.mount, pushRoutes).route(TRANSFER.mount, transferRoutes!);
    const clusters = gateway.status().clusters.length;
    log("info", "object-started", "the object opened its database", { clusters });
  }
}
