import { isJsonObject, type JsonObject } from "../../snapshot/json-value.ts";
import { ApiError } from "../api-server.ts";
import type { ManagedObject } from "./objects.ts";

/**
 * Fields that the API server does not keep because the installed CRD, or this version of Kubernetes, does not
 * have them. They show at a write: server-side apply rejects fields that the schema lacks, and what is
 * switched off is missing in the object that comes back. From then on they are left out, so that nothing is
 * written again and again.
 */
export class PrunedFields {
  /** By kind: paths such as `spec.trafficDistribution` and `status.conditions[].observedGeneration`. */
  readonly #paths = new Map<string, Set<string>>();
  readonly #found: (object: ManagedObject, path: string) => void;

  /** @param found called once for each kind and path */
  constructor(found: (object: ManagedObject, path: string) => void) {
    this.#found = found;
  }

  /**
   * Compares what was applied with what the API server made of it. Metadata is not looked at: every kind has
   * it.
   */
  learn(applied: ManagedObject, stored: ManagedObject): void {
    const { metadata: _, ...fields } = applied;
    for (const path of missing(fields, stored, "")) this.#add(applied, path);
  }

  /**
   * Learns from the error of a write.
   * @returns whether it names a field that was not known before, so that the write can be tried again without
   */
  learnFrom(rejected: ManagedObject, error: unknown): boolean {
    // A 422 quotes values of the object, which are those of other clusters.
    if (!(error instanceof ApiError) || error.status === 422) return false;
    const [, errors] = error.message.match(NOT_TYPED) ?? [];
    const fields = [...(errors ?? "").matchAll(UNDECLARED)].map(([, path]) =>
      path!.slice(1).replace(IN_BRACKETS, "[]"),
    );
    return fields.map((path) => this.#add(rejected, path)).includes(true);
  }

  /** Whether a field of a kind, or one that it is in, is dropped. */
  has(kind: string, path: string): boolean {
    const paths = this.#paths.get(kind);
    if (paths === undefined) return false;
    return [...paths].some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[`));
  }

  /** An object without the fields that its kind loses. */
  without(object: ManagedObject): ManagedObject {
    if (!this.#paths.has(object.kind)) return object;
    return strip(object, "", (path) => this.has(object.kind, path)) as ManagedObject;
  }

  #add(object: ManagedObject, path: string): boolean {
    const paths = this.#paths.get(object.kind) ?? new Set();
    this.#paths.set(object.kind, paths);
    if (paths.has(path)) return false;
    paths.add(path);
    this.#found(object, path);
    return true;
  }
}

/**
 * How server-side apply rejects what the schema does not have: one error in the same line, or one in each of
 * the next.
 */
const NOT_TYPED = /^[^:]*: \d{3} failed to create typed patch object[^:]*: (?:errors:\n)?(.*)$/s;
/**
 * How it names fields: `.status.conditions[type="Valid"].observedGeneration: field not declared in schema`.
 */
const UNDECLARED = /^ *((?:\.[A-Za-z0-9_-]+(?:\[[^\]\n]*\])*)+): field not declared in schema$/gm;
const IN_BRACKETS = /\[[^\]]*\]/g;

/**
 * The paths that `part` has and `whole` lacks. Elements of lists count together: they may be in another
 * order, or be somebody else's.
 */
function* missing(part: JsonObject, whole: JsonObject, prefix: string): Generator<string> {
  for (const [name, value] of Object.entries(part)) {
    const path = prefix + name;
    const stored = whole[name];
    if (value === undefined || (isJsonObject(value) && Object.keys(value).length === 0)) continue;
    if (stored === undefined) yield path;
    else if (isJsonObject(value) && isJsonObject(stored)) yield* missing(value, stored, `${path}.`);
    else if (Array.isArray(value) && Array.isArray(stored) && stored.length > 0)
      yield* missing(united(value), united(stored), `${path}[].`);
  }
}

/** An object with the fields of all elements. */
function united(list: readonly unknown[]): JsonObject {
  return Object.assign({}, ...list.filter(isJsonObject));
}

function strip(value: unknown, path: string, isPruned: (path: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((element) => strip(element, `${path}[]`, isPruned));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const own = path === "" ? name : `${path}.${name}`;
    return isPruned(own) ? [] : [[name, strip(inner, own, isPruned)] as const];
  });
  return Object.fromEntries(kept);
}
