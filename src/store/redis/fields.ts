import type { PatchLine } from "../../snapshot/lines/patch-line.ts";

/** A field that every whole state has: a hash that somebody deleted, and a delta made again, lacks it. */
export const MARK = "@";

/** The field that has the value of a line: `topology`, or `exports/<key>`. */
export function fieldOf(line: PatchLine): string {
  return line.length === 2 ? line[0] : `${line[0]}/${line[1]}`;
}

/** The line that makes the value of a field from nothing. */
export function lineOf(field: string, value: unknown): PatchLine {
  const slash = field.indexOf("/");
  const path = slash < 0 ? [field] : [field.slice(0, slash), field.slice(slash + 1)];
  return [...path, value] as unknown as PatchLine;
}
