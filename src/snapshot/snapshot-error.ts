import type * as z from "zod";

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
        message: "is not a known field",
      }));
    if (issue.code === "invalid_key")
      return [
        {
          path: formatPath(here),
          message: `is not a valid key: ${issue.issues[0]?.message ?? issue.message}`,
        },
      ];
    return [{ path: formatPath(here), message: issue.message }];
  });
}
