import { VERSION } from "../../assembly/version.ts";
import { hashBlob } from "../../zone/segment/hash.ts";
import { FORMAT_VERSION } from "../../zone/segment/layout.ts";
import type { WorkerSettings } from "./environment.ts";

/** A short text of all that generations depend on beside pushes: the program, its settings, and what clusters may do. */
export function settingsKey({
  config,
  grants,
  exportLimits,
}: Pick<WorkerSettings, "config" | "grants" | "exportLimits">): string {
  const granted = Array.from(grants, ([id, grant]) => [id, grant === "*" ? grant : [...grant]]);
  const text = JSON.stringify([VERSION, FORMAT_VERSION, config, granted, [...(exportLimits ?? [])]]);
  return hashBlob(new TextEncoder().encode(text));
}
