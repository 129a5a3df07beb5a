import type { Finding } from "../snapshot/schema.ts";
import type { ExtractedState } from "./extracted-state.ts";
import { FindingCollector, type Report } from "./findings.ts";
import type { ObjectIdentity } from "./identity.ts";

type FindingSet = readonly (readonly [key: string, finding: Finding])[];

/** Findings about objects without a service; they count while the object's namespace exists. */
export class StrayFindings {
  readonly #state: ExtractedState;
  readonly #namespaceExists: (namespace: string) => boolean;
  readonly #kept = new Map<string, { readonly namespace: string; readonly findings: FindingSet }>();

  constructor(state: ExtractedState, namespaceExists: (namespace: string) => boolean) {
    this.#state = state;
    this.#namespaceExists = namespaceExists;
  }

  /** Keeps the findings that `inspect` reports about an object; the caller forgets earlier findings first. */
  inspect<Result>(identity: ObjectIdentity, inspect: (report: Report) => Result): Result {
    const { kind, namespace, name } = identity;
    const collector = new FindingCollector();
    const result = inspect(collector.about(namespace === "" ? { kind, name } : { kind, namespace, name }));
    const findings = collector.collect();
    if (findings.length === 0) return result;
    this.#kept.set(objectKey(identity), { namespace, findings });
    if (namespace === "" || this.#namespaceExists(namespace))
      for (const [key, finding] of findings) this.#state.set("findings", key, finding);
    return result;
  }

  /** Removes the findings about an object. */
  forget(identity: ObjectIdentity): void {
    const key = objectKey(identity);
    for (const [finding] of this.#kept.get(key)?.findings ?? [])
      this.#state.set("findings", finding, undefined);
    this.#kept.delete(key);
  }

  /** Shows or hides the findings of a namespace that was created or deleted. */
  setNamespace(name: string, exists: boolean): void {
    for (const { namespace, findings } of this.#kept.values())
      if (namespace === name)
        for (const [key, finding] of findings) this.#state.set("findings", key, exists ? finding : undefined);
  }
}

function objectKey({ kind, group, namespace, name }: ObjectIdentity): string {
  return `${kind}|${group}|${namespace}|${name}`;
}
