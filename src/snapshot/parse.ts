import { sha256 } from "@noble/hashes/sha2.js";
import type * as z from "zod";
import { pathOfPrototypeKey } from "./json-value.ts";
import { ClusterSnapshot } from "./schema.ts";

/** The members of a snapshot that are tables of entries. */
export const COLLECTIONS = ["namespaces", "exports", "imports", "services", "pods", "findings"] as const;

/** Optional members that are one value, merged and validated whole. */
export const SINGLES = ["topology", "clusterZone"] as const;

export type Collection = (typeof COLLECTIONS)[number];

/** Parsing stops at so many issues: a list of all would cost more than parsing a valid snapshot. */
export const ENOUGH_ISSUES = 1000;

const UNKNOWN_FIELD = "is not a known field";

/**
 * Parses a JSON value as a snapshot. The result is a copy that shares nothing with `value`.
 * @throws {SnapshotError} naming each invalid field, at most a thousand.
 */
export function parseSnapshot(value: unknown): ClusterSnapshot {
  const prototypeKey = pathOfPrototypeKey(value);
  if (prototypeKey !== undefined)
    throw new SnapshotError([{ path: formatPath(prototypeKey), message: UNKNOWN_FIELD }]);
  const result = ClusterSnapshot.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}

/** One error in a snapshot or a patch, e.g. at `exports["shop/web"].ports[0].port`. */
export interface SnapshotIssue {
  readonly path: string;
  readonly message: string;
  /** The number of its line, from 1, where the value came as lines. */
  readonly line?: number;
}

/** A step of a path: a member's name or an element's index. */
export type PathStep = PropertyKey;

/** How many issues an error lists at most. */
export const MOST_ISSUES = 20;

/** A snapshot or patch is invalid. `total` also counts the issues that `issues` leaves out. */
export class SnapshotError extends Error {
  readonly code = "INVALID_SNAPSHOT";
  readonly issues: readonly SnapshotIssue[];
  readonly total: number;

  constructor(issues: readonly SnapshotIssue[]) {
    const listed = issues.slice(0, MOST_ISSUES);
    const more = issues.length > listed.length ? `; and ${issues.length - listed.length} more` : "";
    super(listed.map(describe).join("; ") + more);
    this.issues = listed;
    this.total = issues.length;
  }
}

function describe({ path, message, line }: SnapshotIssue): string {
  return `${line === undefined ? "" : `line ${line}: `}${path || "the whole value"}: ${message}`;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;
const MOST_NAME_CHARACTERS = 300;

/** Writes a path as a JavaScript expression; very long member names are cut. */
export function formatPath(path: readonly PathStep[]): string {
  let text = "";
  for (const step of path) {
    const name = String(step);
    if (typeof step === "number") text += `[${step}]`;
    else if (PLAIN_NAME.test(name)) text += text === "" ? name : `.${name}`;
    else text += `[${JSON.stringify(name.slice(0, MOST_NAME_CHARACTERS))}]`;
  }
  return text;
}

/** The most issues and unknown members of one value that are counted and reported. */
const MOST_COUNTED = 1000;

/** The issues that zod found in the value at `path`; an unknown member is one issue. */
export function collectIssues(error: z.ZodError, path: readonly PathStep[]): SnapshotIssue[] {
  return error.issues.slice(0, MOST_COUNTED).flatMap((issue) => {
    const here = [...path, ...issue.path];
    if (issue.code === "unrecognized_keys")
      return issue.keys.slice(0, MOST_COUNTED).map((name) => ({
        path: formatPath([...here, name]),
        message: UNKNOWN_FIELD,
      }));
    const key = issue.code === "invalid_key" ? "is not a valid key: " : "";
    const { message } = (issue.code === "invalid_key" && issue.issues[0]) || issue;
    return [{ path: formatPath(here), message: key + message }];
  });
}

/** A hash in progress. */
export interface Sha256 {
  update(bytes: Uint8Array): Sha256;
  /** 32 bytes. Nothing may be added after it. */
  digest(): Uint8Array;
}

/**
 * What Node, Deno and Bun give, and a Worker without `nodejs_compat` does not (Node.js,
 * `process.getBuiltinModule`).
 */
interface NodeGlobal {
  readonly process?: {
    readonly getBuiltinModule?: (
      name: "node:crypto",
    ) => { createHash(algorithm: "sha256"): Sha256 } | undefined;
  };
}

const native = (globalThis as NodeGlobal).process?.getBuiltinModule?.("node:crypto");

/**
 * Begins a SHA-256 (FIPS 180-4), which is synchronous on every host. 16 KB take 14 µs with the host's own
 * implementation, 89 µs in JavaScript (Node 24).
 */
export const createSha256: () => Sha256 =
  native === undefined ? () => sha256.create() : () => native.createHash("sha256");

/** The SHA-256 of bytes. */
export function sha256Of(bytes: Uint8Array): Uint8Array {
  return createSha256().update(bytes).digest();
}
