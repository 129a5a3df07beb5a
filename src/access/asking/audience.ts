import { type Scope, scopeKey } from "../../merge/scope.ts";

/** Those who get the same answers: by rules with the same scope, or everybody. */
export interface Audience {
  readonly scope: Scope;
  /** Whether it is everybody: then the tokens of clusters that push still say which cluster asks. */
  readonly isEverybody: boolean;
}

/** Everybody whom a gateway answers, by audience. */
export interface Audiences {
  readonly all: readonly Audience[];
  /** Undefined where nobody may ask without a rule. */
  readonly everybody: Audience | undefined;
  /** @throws {RangeError} for a rule that there is not */
  ofRule(name: string): Audience;
}

/**
 * The audiences of rules. Each is one object, by which others may keep things for it.
 * @param everybody what exists for everybody; undefined for nothing
 */
export function createAudiences(
  everybody: Scope | undefined,
  rules: readonly { readonly name: string; readonly scope: Scope }[],
): Audiences {
  const byKey = new Map<string, Audience>();
  const byRule = new Map<string, Audience>();
  for (const { name, scope } of rules) {
    const key = scopeKey(scope);
    const audience = byKey.get(key) ?? { scope, isEverybody: false };
    byKey.set(key, audience);
    byRule.set(name, audience);
  }
  const open = everybody === undefined ? undefined : { scope: everybody, isEverybody: true };
  return {
    all: [...(open === undefined ? [] : [open]), ...byKey.values()],
    everybody: open,
    ofRule: (name) => {
      const audience = byRule.get(name);
      if (audience === undefined) throw new RangeError(`there is no rule ${JSON.stringify(name)}`);
      return audience;
    },
  };
}
