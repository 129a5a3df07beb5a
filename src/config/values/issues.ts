import type * as z from "zod";

/** One key of a configuration that is wrong. */
export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** The key as it is written: `lease.minimumSeconds`, `push.credentials[0]`; empty for the whole. */
  readonly key: string;
  readonly message: string;
}

/** Every key that is wrong, unknown ones one by one. */
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
