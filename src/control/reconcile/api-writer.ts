import { request } from "undici";
import { type ApiServer, type Credentials, readCredentials } from "../../sync/api-server.ts";
import { Budget, pause } from "../../sync/pacing.ts";
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

/** Writes a second, on average and at once. */
export const WRITE_LIMITS = { perSecond: 50, burst: 100 };
const REQUEST_TIMEOUT = 30_000;
/** Tokens and certificates of a pod change while it runs. */
const CREDENTIALS_FOR = 60_000;

/** Writes objects to the cluster's API server, at a bounded rate. */
export class ApiWriter {
  /** Writes so far by verb and kind, such as `apply EndpointSlice`. */
  readonly counts = new Map<string, number>();
  readonly #api: () => ApiServer;
  readonly #budget = new Budget(WRITE_LIMITS);
  #credentials: { readonly held: Credentials; readonly since: number } | undefined;

  constructor(api: () => ApiServer) {
    this.#api = api;
  }

  /**
   * Server-side apply, which takes fields over from other managers.
   * @param subresource such as `status`
   * @throws {WriteError}
   */
  apply(object: ManagedObject, signal: AbortSignal, subresource = ""): Promise<ManagedObject> {
    return this.#patch("apply", "application/apply-patch+yaml", "&force=true", object, signal, subresource);
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
    return JSON.parse(await this.#send("PATCH", path, type, object, signal)) as ManagedObject;
  }

  /** The object as it is; undefined if there is none. @throws {WriteError} */
  async read(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    try {
      return JSON.parse(
        await this.#send("GET", pathOf(object), undefined, undefined, signal),
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
      await this.#send("POST", collection, "application/json", object, signal),
    ) as ManagedObject;
  }

  /** Replaces an object if it is still the version that was read. @throws {WriteError} 409 otherwise */
  async replace(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    return JSON.parse(
      await this.#send("PUT", pathOf(object), "application/json", object, signal),
    ) as ManagedObject;
  }

  /** Deletes the object that was seen, and no other one of its name. One that is gone is no error. @throws {WriteError} */
  async remove(object: ManagedObject, signal: AbortSignal): Promise<void> {
    this.#count(`delete ${object.kind}`);
    const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: object.metadata.uid } };
    try {
      await this.#send("DELETE", pathOf(object), "application/json", options, signal);
    } catch (error) {
      if (!(error instanceof WriteError && (error.status === 404 || error.status === 409))) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#credentials?.held.dispatcher.destroy();
    this.#credentials = undefined;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async #send(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    type: string | undefined,
    body: object | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    for (;;) {
      const wait = this.#budget.wait(performance.now());
      if (wait === 0) break;
      if (!(await pause(wait, signal))) throw new Error("stopped");
    }
    this.#budget.spend(performance.now());
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
    if (answer.statusCode === 401) this.#credentials = undefined;
    throw new WriteError(`${method} ${path}`, answer.statusCode, text);
  }

  async #connection(): Promise<Credentials> {
    const now = performance.now();
    const before = this.#credentials;
    if (before !== undefined && now - before.since < CREDENTIALS_FOR) return before.held;
    const held = await readCredentials(this.#api().config);
    this.#credentials = { held, since: now };
    void before?.held.dispatcher.close();
    return held;
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
