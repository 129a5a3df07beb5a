import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";
import { visibilitiesOf } from "../../access/rules/access-rule.ts";
import { auditToLog, createAudit } from "../../assembly/audit.ts";
import { type Log, logJson, logStore } from "../../assembly/log.ts";
import { openPrimary } from "../../assembly/primary.ts";
import { createStages } from "../../assembly/stages.ts";
import { systemClock } from "../../gateway/clock.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { Turns } from "../../gateway/turns.ts";
import { createTransferRoutes } from "../../http/transfer-routes.ts";
import { createMirroredStore } from "../../store/remembered/mirrored-store.ts";
import { createTextTable } from "../../store/remembered/text-table.ts";
import { createDurableObjectStore } from "../../store/rows/durable-object-store.ts";
import { resume } from "../../transfer/stored/resume.ts";
import type { StartingGateway } from "../../transfer/stored/starting-gateway.ts";
import type { StoredGenerations } from "../../transfer/stored/stored-generations.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { type Environment, readSettings, type WorkerSettings } from "./environment.ts";
import { LeaseAlarm } from "./lease-alarm.ts";
import { settingsKey } from "./settings-key.ts";

/** Cloudflare stops the clock while a Worker computes, so the duration of a compilation is not known here. */
const log: Log = (level, event, message, { milliseconds: _, ...fields } = {}) =>
  logJson(level, event, message, fields);

const TRANSFER = "/api/v1/transfer";
const RENEWAL = "/lease";

/** What an object has once its snapshots are loaded. */
interface LoadedObject {
  readonly gateway: Gateway<Generation>;
  readonly pushes: Hono;
  readonly leases: LeaseAlarm;
  readonly generations: StoredGenerations;
}

/** What an object is opened with. */
interface ObjectParts {
  readonly storage: DurableObjectStorage;
  readonly settings: WorkerSettings;
  readonly leases: LeaseAlarm;
  readonly store: ReturnType<typeof createDurableObjectStore>;
  readonly generations: StoredGenerations;
}

/**
 * The primary: takes pushes, keeps snapshots, compiles generations and hands them out. There is one for the whole clusterset, and only
 * the Worker reaches it. It hands out the stored generation at once, and loads and compiles snapshots in turns with these requests. Renewals wait until
 * the snapshots are loaded, or leases would expire in a start that takes as long; pushes and alarms wait until they are compiled.
 */
export class ClustersetObject extends DurableObject<Environment> {
  /** Set before the first request, see the constructor. */
  #starting: StartingGateway | undefined;
  #transfer = new Hono();
  readonly #loaded: Promise<LoadedObject>;
  readonly #opened: Promise<LoadedObject>;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    const settings = readSettings(environment);
    const resumed = state.blockConcurrencyWhile(() => this.#resume(state.storage, settings));
    // Requests that have come by now get their turn first.
    const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
    this.#loaded = resumed.then(async (parts) => {
      await turn();
      return this.#load(parts);
    });
    this.#opened = this.#loaded.then(async (loaded) => {
      await this.#open(loaded);
      return loaded;
    });
    this.#opened.catch((err) => {
      log("error", "object-failed", "the object could not load its snapshots, and starts again", { err });
      state.abort("the object could not load its snapshots");
    });
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const isTransfer = pathname.startsWith(`${TRANSFER}/`);
    if (isTransfer && this.#starting!.serves(searchParams.get("scope") ?? ""))
      return this.#transfer.fetch(request);
    const { pushes } = await (pathname.endsWith(RENEWAL) ? this.#loaded : this.#opened);
    return isTransfer ? this.#transfer.fetch(request) : pushes.fetch(request);
  }

  override async alarm(): Promise<void> {
    (await this.#opened).leases.ring();
  }

  async #resume(storage: DurableObjectStorage, settings: WorkerSettings): Promise<ObjectParts> {
    const { config, access } = settings;
    const leases = new LeaseAlarm(storage, await storage.getAlarm(), (err) =>
      log("error", "alarm-failed", "the object's alarm for the next lease could not be set", { err }),
    );
    const store = createDurableObjectStore(storage, {
      onWarning: logStore(log),
      mostCharacters: config.limits.allSnapshotCharacters,
      // When it starts again the cluster is lost alone, and its worker pushes in full.
      onDamagedEntry: () => this.ctx.abort("a row of a snapshot is damaged"),
    });
    const { generations, starting } = resume(storage, {
      settings: settingsKey(settings),
      scopes: visibilitiesOf(access.rules),
      metas: () => store.metas(),
      mostBehind: config.limits.pushDelaySeconds * 1000,
      clock: systemClock,
      onDamage: ({ hash, message }) => log("warn", "part-damaged", message, { hash }),
    });
    this.#starting = starting;
    this.#transfer = new Hono().route(
      TRANSFER,
      createTransferRoutes({
        gateway: starting,
        clock: systemClock.now,
        onError: (err) => log("error", "request-failed", "a request failed", { err }),
      }),
    );
    return { storage, settings, leases, store, generations };
  }

  async #load({ storage, settings, leases, store, generations }: ObjectParts): Promise<LoadedObject> {
    const { config, authority, grants, exportLimits, access } = settings;
    const { gateway, pushRoutes } = await openPrimary(
      {
        ...{
          config,
          log,
          stages: createStages(config, {
            ...{ grants, exportLimits },
            hold: (segment) => generations.hold(segment),
            notes: (scope) => generations.notes(scope),
          }),
          rules: access.rules,
          clock: systemClock,
        },
        audit: createAudit(config.audit, auditToLog(log)),
        // The Worker passes requests on unchanged.
        clientAddress: (request) => request.header("cf-connecting-ip") ?? undefined,
      },
      {
        store,
        remembered: createMirroredStore([
          createTextTable(storage, "export_precedence"),
          createTextTable(storage, "export_precedence_copy"),
        ]),
        watchLeases: (onDue) => {
          leases.onDue = onDue;
          return leases;
        },
        generations,
        authority,
      },
    );
    const pushes = new Hono().route("/api/v1/clusters", pushRoutes);
    return { gateway, pushes, leases, generations };
  }

  async #open({ gateway, generations }: LoadedObject): Promise<void> {
    await gateway.started;
    this.#starting!.open(gateway);
    await new Turns(systemClock).run(generations.sweep());
    const clusters = gateway.status().clusters.length;
    log("info", "object-started", "the object loaded its snapshots", { clusters });
  }
}
