import type * as z from "zod";

/** One wrong key of a configuration. */
export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** The key as text: `lease.minimumSeconds`, `push.credentials[0]`; empty for the whole configuration. */
  readonly key: string;
  readonly message: string;
}

/** All wrong keys; unknown ones are listed one by one. */
export function listIssues(error: z.ZodError): ConfigIssue[] {
  return error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => describe([...issue.path, key], "this key does not exist"))
      : [describe(issue.path, issue.message)],
  );
}

function describe(path: readonly PropertyKey[], message: string): ConfigIssue {
  const key = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return { path, key: key.replace(/^\./, ""), message };
}
