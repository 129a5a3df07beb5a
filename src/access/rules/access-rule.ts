import { type Visibility, visibilityKey } from "../../merge/visibility/visibility.ts";

/** What the rule that lets everybody in is called. */
export const PUBLIC = "public";

/** Lets clients in, by what they show or everybody, and says what exists for them. */
export interface AccessRule {
  readonly name: string;
  /** Whether it lets everybody in: then the tokens of clusters that push still decide a query's view. */
  readonly isPublic: boolean;
  readonly visibility: Visibility;
}

/** The rules of a gateway. Each is one object, by which others may keep things for it. */
export interface AccessRules {
  /** The public one first. */
  readonly all: readonly AccessRule[];
  /** Undefined where nobody is let in without showing something. */
  readonly public: AccessRule | undefined;
  /** @throws {RangeError} for a rule that there is not */
  of(name: string): AccessRule;
}

/** @param everybody what exists for everybody; undefined for nothing */
export function createAccessRules(
  everybody: Visibility | undefined,
  rules: readonly { readonly name: string; readonly scope: Visibility }[],
): AccessRules {
  const open = everybody && { name: PUBLIC, isPublic: true, visibility: everybody };
  const named = new Map(
    rules.map(({ name, scope }) => [name, { name, isPublic: false, visibility: scope }] as const),
  );
  return {
    all: [...(open === undefined ? [] : [open]), ...named.values()],
    public: open,
    of: (name) => {
      const rule = named.get(name);
      if (rule === undefined) throw new RangeError(`there is no rule ${JSON.stringify(name)}`);
      return rule;
    },
  };
}

/** Whether the clients of a rule see everything, and so may see what is counted of everything. */
export function seesEverything({ visibility }: AccessRule): boolean {
  return visibilityKey(visibility) === "";
}

/** Whether something that somebody else sees is hidden from the clients of a rule. */
export function hidesAnything({ visibility: { view: _, ...restricted } }: AccessRule): boolean {
  return visibilityKey(restricted) !== "";
}

/** What is visible to the clients of rules, each once. */
export function visibilitiesOf({ all }: AccessRules): Visibility[] {
  return [...new Map(all.map(({ visibility }) => [visibilityKey(visibility), visibility])).values()];
}
