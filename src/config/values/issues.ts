import type * as z from "zod";

/** One wrong key of a configuration. */
export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** The key as text: `lease.minimumSeconds`, `push.credentials[0]`; empty for the whole configuration. */
  readonly key: string;
  readonly message: string;
  readonly isUnknown?: boolean;
}

/** All wrong keys; unknown ones are listed one by one, and of a union those of the alternative that has the type of the value. */
export function listIssues(error: z.ZodError): ConfigIssue[] {
  return error.issues.flatMap((issue) => issuesOf(issue, []));
}

function issuesOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): ConfigIssue[] {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      ...describe([...path, key], "this key does not exist"),
      isUnknown: true,
    }));
  if (issue.code === "invalid_union") {
    const fitting = issue.errors.filter((issues) => issues.every((one) => !isOfOtherType(one)));
    if (fitting.length === 1) return fitting[0]!.flatMap((one) => issuesOf(one, path));
  }
  return [describe(path, issue.message)];
}

function isOfOtherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

function describe(path: readonly PropertyKey[], message: string): ConfigIssue {
  const key = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return { path, key: key.replace(/^\./, ""), message };
}
