import { type Dispatcher, request } from "undici";
import { OWN_MANAGER } from "../../extract/objects.ts";
import type { OpenConnection } from "../api-connection.ts";
import type { ApiServer } from "../api-resources.ts";
import { Budget, type BudgetLimits, pause } from "../pacing.ts";
import type { ManagedObject } from "./objects.ts";

/** The API server rejected a write. */
export class WriteError extends Error {
  readonly status: number;
  /** Causes of the Status object, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];

  constructor(what: string, status: number, text: string) {
    const { message = text.slice(0, 300), causes = [] } = readStatus(text);
    super(`${what}: ${status} ${message}`);
    this.status = status;
    this.causes = causes;
  }
}

/** Writes of objects a second, on average and at once. The API server's priority and fairness bounds what it cannot take (429). */
export const WRITE_LIMITS: BudgetLimits = { perSecond: 200, burst: 400 };
/** How often a request is made that the API server asks to repeat, as by client-go. */
export const MOST_ATTEMPTS = 11;
/** Seconds that are waited at most, whatever the API server says. */
const LONGEST_WAIT = 60;
const LEASE = "Lease";
/** A Lease is renewed however much waits, and Events have a budget of their own (`EventRecorder`). */
const UNPACED: ReadonlySet<string> = new Set([LEASE, "Event"]);
const REQUEST_TIMEOUT = 30_000;
/** Tokens and certificates of a pod change while it runs. */
const CONNECTED_FOR = 60_000;

const JSON_TYPE = "application/json";

interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Of the body. */
  readonly type?: string;
  readonly body?: object;
  /** Under which each attempt counts, such as `apply EndpointSlice`. */
  readonly counted?: string;
}

/** Writes objects to the cluster's API server, at a bounded rate. */
export class ApiWriter {
  /** Writes so far by verb and kind, such as `apply EndpointSlice`. */
  readonly counts = new Map<string, number>();
  readonly #api: () => ApiServer;
  readonly #budget: Budget;
  /** Until when the API server has asked not to be sent anything; milliseconds of the monotonic clock. The Lease is tried nevertheless. */
  #heldUntil = 0;
  /** Shared by all requests that begin in its time. */
  #connected: { readonly held: Promise<OpenConnection>; since: number } | undefined;

  constructor(api: () => ApiServer, limits: BudgetLimits = WRITE_LIMITS) {
    this.#api = api;
    this.#budget = new Budget(limits);
  }

  /**
   * Server-side apply, which takes fields over from other managers.
   * @param subresource such as `status`
   * @throws {WriteError}
   */
  apply(object: ManagedObject, signal: AbortSignal, subresource = ""): Promise<ManagedObject> {
    return this.#patch("apply", "application/apply-patch+yaml", "&force=true", object, signal, subresource);
  }

  /**
   * Server-side apply of an object that is not there yet. Undefined if there is one: its version differs from the one that is named, so that the API
   * server rejects the write and nobody's object is touched. Versions of objects begin at 2.
   * @throws {WriteError}
   */
  async applyNew(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    const { metadata, ...rest } = object;
    try {
      return await this.apply(
        { ...rest, metadata: { ...metadata, resourceVersion: "1" } } as ManagedObject,
        signal,
      );
    } catch (error) {
      if (error instanceof WriteError && error.status === 409) return undefined;
      throw error;
    }
  }

  /** A merge patch: lists become those of the object. @throws {WriteError} */
  merge(object: ManagedObject, signal: AbortSignal, subresource = ""): Promise<ManagedObject> {
    return this.#patch("merge", "application/merge-patch+json", "", object, signal, subresource);
  }

  async #patch(
    verb: "apply" | "merge",
    type: string,
    query: string,
    object: ManagedObject,
    signal: AbortSignal,
    subresource: string,
  ): Promise<ManagedObject> {
    const below = subresource === "" ? "" : `/${subresource}`;
    const path = `${pathOf(object)}${below}?fieldManager=${OWN_MANAGER}${query}`;
    const counted = `${verb} ${object.kind}${below}`;
    return this.#send(object.kind, { method: "PATCH", path, type, body: object, counted }, signal);
  }

  /** The object as it is; undefined if there is none. @throws {WriteError} */
  async read(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    try {
      return await this.#send(object.kind, { method: "GET", path: pathOf(object) }, signal);
    } catch (error) {
      if (error instanceof WriteError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Creates an object that has no name of its own before, such as an Event. @throws {WriteError} */
  create(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    const path = pathOf(object).replace(/\/[^/]+$/, "");
    const counted = `create ${object.kind}`;
    return this.#send(object.kind, { method: "POST", path, type: JSON_TYPE, body: object, counted }, signal);
  }

  /** Replaces an object if it is still the version that was read. @throws {WriteError} 409 otherwise */
  replace(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    const counted = `update ${object.kind}`;
    const path = pathOf(object);
    return this.#send(object.kind, { method: "PUT", path, type: JSON_TYPE, body: object, counted }, signal);
  }

  /** Deletes the object that was seen, and no other one of its name. One that is gone is no error. @throws {WriteError} */
  async remove(object: ManagedObject, signal: AbortSignal): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: object.metadata.uid } };
    const counted = `delete ${object.kind}`;
    const path = pathOf(object);
    try {
      await this.#send(object.kind, { method: "DELETE", path, type: JSON_TYPE, body, counted }, signal);
    } catch (error) {
      if (!(error instanceof WriteError && (error.status === 404 || error.status === 409))) throw error;
    }
  }

  async close(): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    await connected?.held.then(({ dispatcher }) => dispatcher.destroy()).catch(() => undefined);
  }

  /** @throws {WriteError} */
  async #send(
    kind: string,
    { method, path, type, body, counted }: Sent,
    signal: AbortSignal,
  ): Promise<ManagedObject> {
    let heldUntil = 0;
    for (let attempt = 1; ; attempt++) {
      await this.#takeTurn(kind, heldUntil, signal);
      if (counted !== undefined) this.counts.set(counted, (this.counts.get(counted) ?? 0) + 1);
      const { dispatcher, rejected } = await this.#connection();
      const answer = await request(this.#api().url + path, {
        method,
        dispatcher,
        headers: { accept: "application/json", ...(type !== undefined && { "content-type": type }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
      });
      const text = await answer.body.text();
      if (answer.statusCode < 300) return JSON.parse(text) as ManagedObject;
      if (answer.statusCode === 401) {
        rejected();
        if (this.#connected !== undefined) this.#connected.since = Number.NEGATIVE_INFINITY;
      }
      const wait = retryAfter(answer);
      if (wait === undefined || attempt === MOST_ATTEMPTS)
        throw new WriteError(`${method} ${path}`, answer.statusCode, text);
      heldUntil = performance.now() + wait;
      if (kind !== LEASE) this.#heldUntil = Math.max(this.#heldUntil, heldUntil);
    }
  }

  /** Waits as long as the API server has asked to, and for the budget, in the order of the calls. */
  async #takeTurn(kind: string, heldUntil: number, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    let wait = (kind === LEASE ? heldUntil : this.#heldUntil) - now;
    if (!UNPACED.has(kind)) {
      wait = Math.max(wait, this.#budget.wait(now));
      this.#budget.spend(now);
    }
    if (wait > 0 && !(await pause(wait, signal))) throw new Error("stopped");
  }

  #connection(): Promise<OpenConnection> {
    const now = performance.now();
    const before = this.#connected;
    if (before !== undefined && now - before.since < CONNECTED_FOR) return before.held;
    const current = { held: this.#api().connection.open(), since: now };
    this.#connected = current;
    current.held.catch(() => {
      current.since = Number.NEGATIVE_INFINITY;
    });
    before?.held.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined);
    return current.held;
  }
}

/** Milliseconds after which the API server wants the request again: 429 of its priority and fairness, or a 5xx that says so. */
function retryAfter({ statusCode, headers }: Dispatcher.ResponseData): number | undefined {
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  if ((statusCode !== 429 && statusCode < 500) || !(seconds >= 0)) return undefined;
  return Math.min(seconds, LONGEST_WAIT) * 1000;
}

const PLURALS: Readonly<Record<string, string>> = {
  ServiceImport: "serviceimports",
  ServiceExport: "serviceexports",
  Service: "services",
  EndpointSlice: "endpointslices",
  Lease: "leases",
  Event: "events",
  ClusterProperty: "clusterproperties",
};

/** The path of an object of a namespace, or of the cluster where its namespace is empty. */
export function pathOf({ apiVersion, kind, metadata }: ManagedObject): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { namespace, name } = metadata;
  return `${root}${namespace === "" ? "" : `/namespaces/${namespace}`}/${PLURALS[kind]}/${name}`;
}

function readStatus(text: string): { message?: string; causes?: string[] } {
  try {
    const { message, details } = JSON.parse(text) as {
      message?: string;
      details?: { causes?: { reason?: string }[] };
    };
    return {
      ...(message !== undefined && { message }),
      causes: (details?.causes ?? []).flatMap((cause) => cause.reason ?? []),
    };
  } catch {
    // From a proxy in front of the API server: the message quotes it.
    return {};
  }
}
