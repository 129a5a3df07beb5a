import { OWN_MANAGER } from "../../extract/objects.ts";
import { ApiError, type ApiRequest, type ApiServer } from "../api-server.ts";
import { Budget, type BudgetLimits, pause } from "../pacing.ts";
import type { ManagedObject } from "./objects.ts";

/**
 * Writes of objects a second, on average and at once. The API server's priority and fairness bounds what it
 * cannot take (429).
 */
export const WRITE_LIMITS: BudgetLimits = { perSecond: 200, burst: 400 };
const LEASE = "Lease";
/** A Lease is renewed however much waits, and Events have a budget of their own (`EventRecorder`). */
const UNPACED: ReadonlySet<string> = new Set([LEASE, "Event"]);

const JSON_TYPE = "application/json";
const PATCHES = {
  apply: ["application/apply-patch+yaml", "&force=true"],
  merge: ["application/merge-patch+json", ""],
} as const;

/** Writes objects to the cluster's API server, at a bounded rate. */
export class ApiWriter {
  /** Writes so far by verb and kind, such as `apply EndpointSlice`. */
  readonly counts = new Map<string, number>();
  readonly #api: ApiServer;
  readonly #budget: Budget;

  constructor(api: ApiServer, limits: BudgetLimits = WRITE_LIMITS) {
    this.#api = api;
    this.#budget = new Budget(limits);
  }

  /**
   * Server-side apply, which takes fields over from other managers.
   * @param subresource such as `status`
   * @throws {ApiError}
   */
  apply(object: ManagedObject, signal: AbortSignal, subresource?: string): Promise<ManagedObject> {
    return this.#patch("apply", object, signal, subresource);
  }

  /**
   * Server-side apply of an object that is not there yet. Undefined if there is one: its version differs from
   * the one that is named, so that the API server rejects the write and no other object is touched. Versions
   * of objects begin at 2.
   * @throws {ApiError}
   */
  async applyNew(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    const metadata = { ...object.metadata, resourceVersion: "1" };
    try {
      return await this.apply({ ...object, metadata }, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return undefined;
      throw error;
    }
  }

  /**
   * A merge patch, for an object whose lists others have added to: apply leaves their elements there, a merge
   * patch replaces the list.
   * @throws {ApiError}
   */
  merge(object: ManagedObject, signal: AbortSignal, subresource?: string): Promise<ManagedObject> {
    return this.#patch("merge", object, signal, subresource);
  }

  #patch(verb: keyof typeof PATCHES, body: ManagedObject, signal: AbortSignal, subresource?: string) {
    const [type, query] = PATCHES[verb];
    const below = subresource === undefined ? "" : `/${subresource}`;
    const path = `${pathOf(body)}${below}?fieldManager=${OWN_MANAGER}${query}`;
    const sent = { method: "PATCH", type, body } as const;
    return this.#send(body.kind, path, signal, sent, `${verb} ${body.kind}${below}`);
  }

  /** The object as it is; undefined if there is none. @throws {ApiError} */
  async read(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject | undefined> {
    try {
      return await this.#send(object.kind, pathOf(object), signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Creates an object that has no name of its own before, such as an Event. @throws {ApiError} */
  create(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    const path = pathOf(object).replace(/\/[^/]+$/, "");
    const sent = { method: "POST", type: JSON_TYPE, body: object } as const;
    return this.#send(object.kind, path, signal, sent, `create ${object.kind}`);
  }

  /** Replaces an object if it is still the version that was read. @throws {ApiError} 409 otherwise */
  replace(object: ManagedObject, signal: AbortSignal): Promise<ManagedObject> {
    const sent = { method: "PUT", type: JSON_TYPE, body: object } as const;
    return this.#send(object.kind, pathOf(object), signal, sent, `update ${object.kind}`);
  }

  /**
   * Deletes the object that was seen, and no other one of its name. One that is gone is no error.
   * @throws {ApiError}
   */
  async remove(object: ManagedObject, signal: AbortSignal): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: object.metadata.uid } };
    const sent = { method: "DELETE", type: JSON_TYPE, body } as const;
    try {
      await this.#send(object.kind, pathOf(object), signal, sent, `delete ${object.kind}`);
    } catch (error) {
      if (!(error instanceof ApiError && (error.status === 404 || error.status === 409))) throw error;
    }
  }

  /** @param counted under which each attempt counts, such as `apply EndpointSlice` @throws {ApiError} */
  #send(
    kind: string,
    path: string,
    signal: AbortSignal,
    sent?: ApiRequest,
    counted?: string,
  ): Promise<ManagedObject> {
    const turn = async () => {
      if (!UNPACED.has(kind)) await this.#takeTurn(signal);
      if (counted !== undefined) this.counts.set(counted, (this.counts.get(counted) ?? 0) + 1);
    };
    return this.#api.json(path, signal, { ...sent, isUrgent: kind === LEASE, turn });
  }

  /** Waits for the budget, in the order of the calls. */
  async #takeTurn(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const wait = this.#budget.wait(now);
    this.#budget.spend(now);
    if (wait > 0 && !(await pause(wait, signal))) throw new Error("stopped");
  }
}

/** The path of an object of a namespace, or of the cluster where its namespace is empty. */
export function pathOf({ apiVersion, kind, metadata }: ManagedObject): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { namespace, name } = metadata;
  return `${root}${namespace === "" ? "" : `/namespaces/${namespace}`}/${pluralOf(kind)}/${name}`;
}

/** The resource of a kind that the control plane writes. */
export function pluralOf(kind: string): string {
  return kind === "ClusterProperty" ? "clusterproperties" : `${kind.toLowerCase()}s`;
}
