import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";
import { auditToLog, createAudit } from "../../assembly/audit.ts";
import { type Log, logJson, logStore } from "../../assembly/log.ts";
import { openPrimary } from "../../assembly/primary.ts";
import { createStages } from "../../assembly/stages.ts";
import { systemClock } from "../../gateway/clock.ts";
import { createMirroredStore } from "../../store/remembered/mirrored-store.ts";
import { createTextTable } from "../../store/remembered/text-table.ts";
import { createDurableObjectStore } from "../../store/rows/durable-object-store.ts";
import { type Environment, readSettings, type WorkerSettings } from "./environment.ts";
import { LeaseAlarm } from "./lease-alarm.ts";

/** Cloudflare stops the clock while a Worker computes, so the duration of a compilation is not known here. */
const log: Log = (level, event, message, { milliseconds: _, ...fields } = {}) =>
  logJson(level, event, message, fields);

/**
 * The primary: takes pushes, keeps snapshots, compiles generations and hands them out. There is one for the whole clusterset, and only
 * the Worker reaches it.
 */
export class ClustersetObject extends DurableObject<Environment> {
  /** Set before the first request, see the constructor. */
  #app = new Hono();
  #leases: LeaseAlarm | undefined;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    state.blockConcurrencyWhile(() => this.#open(state.storage, readSettings(environment)));
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request);
  }

  override alarm(): void {
    this.#leases?.ring();
  }

  async #open(storage: DurableObjectStorage, settings: WorkerSettings): Promise<void> {
    const { config, authority, grants, exportLimits, access } = settings;
    const leases = new LeaseAlarm(storage, await storage.getAlarm(), (err) =>
      log("error", "alarm-failed", "the object's alarm for the next lease could not be set", { err }),
    );
    const { gateway, pushRoutes, transferRoutes } = await openPrimary(
      {
        ...{
          config,
          log,
          stages: createStages(config, { grants, exportLimits }),
          rules: access.rules,
          clock: systemClock,
        },
        audit: createAudit(config.audit, auditToLog(log)),
        // The Worker passes requests on unchanged.
        clientAddress: (request) => request.header("cf-connecting-ip") ?? undefined,
      },
      {
        store: createDurableObjectStore(storage, {
          onWarning: logStore(log),
          mostCharacters: config.limits.allSnapshotCharacters,
        }),
        remembered: createMirroredStore([
          createTextTable(storage, "export_precedence"),
          createTextTable(storage, "export_precedence_copy"),
        ]),
        watchLeases: (onDue) => {
          leases.onDue = onDue;
          return leases;
        },
        authority,
        transfer: "public",
      },
    );
    this.#app.route("/api/v1/clusters", pushRoutes);
    this.#app.route("/api/v1/transfer", transferRoutes!);
    this.#leases = leases;
    const clusters = gateway.status().clusters.length;
    log("info", "object-started", "the object loaded its snapshots", { clusters });
  }
}
