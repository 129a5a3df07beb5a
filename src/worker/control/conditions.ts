import type { ManagedObject } from "./objects.ts";

/** A condition as the MCS API has it (metav1.Condition). */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/**
 * The wanted conditions with their times: `lastTransitionTime` changes with `status` alone. Undefined if the object has them all already, as far as
 * the API server keeps them.
 * @param now RFC 3339
 * @param isPruned whether the API server drops a field
 */
export function conditionsToApply(
  wanted: readonly Condition[],
  object: ManagedObject,
  now: string,
  isPruned: (path: string) => boolean = () => false,
): readonly Condition[] | undefined {
  if (isPruned("status.conditions")) return undefined;
  const actual = conditionsOf(object);
  const { generation } = object.metadata;
  const applied = wanted.map((condition): Condition => {
    const before = actual.find(({ type }) => type === condition.type);
    const since = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now;
    return {
      ...condition,
      lastTransitionTime: since,
      ...(generation !== undefined && { observedGeneration: generation }),
    };
  });
  const isThere = applied.every(({ type, status, reason, message, observedGeneration }) =>
    actual.some(
      (one) =>
        one.type === type &&
        one.status === status &&
        one.reason === reason &&
        one.message === message &&
        (one.observedGeneration === observedGeneration || isPruned("status.conditions[].observedGeneration")),
    ),
  );
  return isThere ? undefined : applied;
}

/** The conditions that an object has. */
export function conditionsOf({ status }: ManagedObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  return Array.isArray(conditions) ? (conditions as Condition[]) : [];
}

/** Whether a condition is as people want it. */
export function isGood({ type, status }: Condition): boolean {
  return status === (type === "Conflict" ? "False" : "True");
}

/**
 * The conditions that tell people something: those with another reason than before. At first, only what is not good, and Ready. Of Valid and Ready one
 * is enough where it says the other: what is Ready is Valid, and what is not Valid cannot be Ready.
 */
export function newsIn(applied: readonly Condition[], before: readonly Condition[]): readonly Condition[] {
  const news = applied.filter((condition) => {
    const { type, reason } = condition;
    const held = before.find((one) => one.type === type);
    return held === undefined ? !isGood(condition) || type === "Ready" : held.reason !== reason;
  });
  const valid = news.find(({ type }) => type === "Valid");
  const ready = news.find(({ type }) => type === "Ready");
  if (valid === undefined || ready === undefined) return news;
  return news.filter((one) => (isGood(ready) ? one !== valid : isGood(valid) || one !== ready));
}
