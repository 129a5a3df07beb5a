import type { DesiredLine } from "../../src/snapshot/desired-line.ts";

/**
 * What a line of a desired state is about: `slice shop/web a`, or `slice shop/web a none` where it takes a
 * slice back.
 */
export function aboutLine(line: DesiredLine): string {
  if ("start" in line) return line.start;
  if ("import" in line) return `import ${line.import}${line.desired === null ? " none" : ""}`;
  if ("service" in line)
    return `slice ${line.service} ${line.cluster}${line.desired === null ? " none" : ""}`;
  if ("export" in line) return `export ${line.export}${line.conditions === null ? " none" : ""}`;
  return "leases" in line ? `leases ${Object.keys(line.leases)}` : "position";
}
