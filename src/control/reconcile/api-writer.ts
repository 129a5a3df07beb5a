import { request } from "undici";
import { type ApiServer, type Credentials, readCredentials } from "../../sync/api-server.ts";
import { Budget, type BudgetLimits, pause } from "../../sync/pacing.ts";
import { MANAGER } from "../objects/names.ts";
import type { ManagedObject } from "../objects/wanted-object.ts";

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

/** Writes of objects a second, on average and at once. */
export const WRITE_LIMITS: BudgetLimits = { perSecond: 50, burst: 100 };
/** A Lease is renewed however much waits, and Events have a budget of their own (`EventRecorder`). */
const UNPACED: ReadonlySet<string> = new Set(["Lease", "Event"]);
const REQUEST_TIMEOUT = 30_000;
/** Tokens and certificates of a pod change while it runs. */
const CREDENTIALS_FOR = 60_000;

/** Writes objects to the cluster's API server, at a bounded rate. */
export class ApiWriter {
  /** Writes so far by verb and kind, such as `apply EndpointSlice`. */
  readonly counts = new Map<string, number>();
  readonly #api: () => ApiServer;
  readonly #budget: Budget;
  /** Shared by all requests that begin in its time. */
  #credentials: { readonly held: Promise<Credentials>; since: number } | undefined;

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
    this.#count(`${verb} ${object.kind}${below}`);
    const path = `${pathOf(object)}${below}?fieldManager=${MANAGER}${query}`;
    return JSON.parse(await this.#send("PATCH", object.kind, path, type, object, signal)) as ManagedObject;
  }

  /** The object as it is; undefined if there is none. @throws {WriteError} */
  async read(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    try {
      return JSON.parse(
        await this.#send("GET", object.kind, pathOf(object), undefined, undefined, signal),
      ) as ManagedObject;
    } catch (error) {
      if (error instanceof WriteError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Creates an object that has no name of its own before, such as an Event. @throws {WriteError} */
  async create(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    this.#count(`create ${object.kind}`);
    const collection = pathOf(object).replace(/\/[^/]+$/, "");
    return JSON.parse(
      await this.#send("POST", object.kind, collection, "application/json", object, signal),
    ) as ManagedObject;
  }

  /** Replaces an object if it is still the version that was read. @throws {WriteError} 409 otherwise */
  async replace(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    this.#count(`update ${object.kind}`);
    return JSON.parse(
      await this.#send("PUT", object.kind, pathOf(object), "application/json", object, signal),
    ) as ManagedObject;
  }

  /** Deletes the object that was seen, and no other one of its name. One that is gone is no error. @throws {WriteError} */
  async remove(object: ManagedObject, signal: AbortSignal): Promise<void> {
    this.#count(`delete ${object.kind}`);
    const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: object.metadata.uid } };
    try {
      await this.#send("DELETE", object.kind, pathOf(object), "application/json", options, signal);
    } catch (error) {
      if (!(error instanceof WriteError && (error.status === 404 || error.status === 409))) throw error;
    }
  }

  async close(): Promise<void> {
    const credentials = this.#credentials;
    this.#credentials = undefined;
    await credentials?.held.then(({ dispatcher }) => dispatcher.destroy()).catch(() => undefined);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async #send(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    kind: string,
    path: string,
    type: string | undefined,
    body: object | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    if (!UNPACED.has(kind)) await this.#takeTurn(signal);
    const { headers, dispatcher } = await this.#connection();
    const answer = await request(this.#api().url + path, {
      method,
      dispatcher,
      headers: {
        ...headers,
        accept: "application/json",
        ...(type !== undefined && { "content-type": type }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
    });
    const text = await answer.body.text();
    if (answer.statusCode < 300) return text;
    if (answer.statusCode === 401 && this.#credentials !== undefined)
      this.#credentials.since = Number.NEGATIVE_INFINITY;
    throw new WriteError(`${method} ${path}`, answer.statusCode, text);
  }

  /** Waits for the budget. Turns are taken in the order of the calls. */
  async #takeTurn(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const wait = this.#budget.wait(now);
    this.#budget.spend(now);
    if (wait > 0 && !(await pause(wait, signal))) throw new Error("stopped");
  }

  #connection(): Promise<Credentials> {
    const now = performance.now();
    const before = this.#credentials;
    if (before !== undefined && now - before.since < CREDENTIALS_FOR) return before.held;
    const current = { held: readCredentials(this.#api().config), since: now };
    this.#credentials = current;
    current.held.catch(() => {
      current.since = Number.NEGATIVE_INFINITY;
    });
    before?.held.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined);
    return current.held;
  }
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
