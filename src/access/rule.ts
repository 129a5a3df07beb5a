import { type Visibility, visibilityKey } from "../merge/visibility.ts";
import { ACCESS_STATUS } from "./client.ts";

/** The name of the rule that admits all clients. */
export const PUBLIC = "public";

/** Admits clients, by a credential or all of them, and has their visibility. */
export interface AccessRule {
  readonly name: string;
  /** Whether it admits all clients: then the tokens of clusters that push still decide a query's view. */
  readonly isPublic: boolean;
  readonly visibility: Visibility;
}

/** The rules of a gateway. Each is one object, which others may use as the key of a map. */
export interface AccessRules {
  /** The public one first. */
  readonly all: readonly AccessRule[];
  /** Undefined if every client needs a credential. */
  readonly public: AccessRule | undefined;
  /** @throws {RangeError} for an unknown name */
  of(name: string): AccessRule;
}

/** @param everybody the visibility of the rule `public`; undefined for no such rule */
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

/** Whether the clients of a rule see everything, and so may see counts over everything. */
export function seesEverything({ visibility }: AccessRule): boolean {
  return visibilityKey(visibility) === "";
}

/** Whether a rule hides anything from its clients. */
export function hidesAnything({ visibility: { view: _, ...restricted } }: AccessRule): boolean {
  return visibilityKey(restricted) !== "";
}

/** The distinct visibilities of all rules. */
export function visibilitiesOf({ all }: AccessRules): Visibility[] {
  return [...new Map(all.map(({ visibility }) => [visibilityKey(visibility), visibility])).values()];
}

/** A request that a rule admits. */
export interface Admitted {
  readonly rule: AccessRule;
  /** If its path has a token: the prefix with the token, and the URL without it. */
  readonly path?: { readonly prefix: string; readonly url: string } | undefined;
  /** Whether its host name has a token. */
  readonly isByHost?: boolean | undefined;
}

/**
 * The statuses of requests that no rule admits: no other credential helps against a certificate that is not
 * trusted.
 */
export const RULE_STATUS = {
  ...ACCESS_STATUS,
  CERTIFICATE_REFUSED: 403,
  CERTIFICATE_REQUIRED: 403,
  NOT_ADMITTED: 403,
  UNKNOWN_PASSWORD: 401,
} as const;

/** A request that no rule admits. */
export interface NotAdmitted {
  readonly rule?: undefined;
  /** `missing` without a credential, `unknown` with an unknown one. */
  readonly outcome: "missing" | "unknown";
  readonly status: number;
  readonly code: keyof typeof RULE_STATUS;
  /** For the client, with the next step. */
  readonly message: string;
  /** The WWW-Authenticate field of a 401 (RFC 9110 section 11.6.1). */
  readonly challenge?: string | undefined;
}

export type Admission = Admitted | NotAdmitted;
