import type * as z from "zod";
import { isJsonObject, mergePatch, ownMember } from "../json-value.ts";
import { collectIssues, formatPath, type PathStep } from "../parse.ts";
import type { EntryPlan, FieldsPlan, TablePlan } from "./split-patch.ts";

/** Called with each error. */
type Report = (path: string, message: string) => void;

/**
 * Applies a merge patch (RFC 7396) to a valid value, and validates what it changes.
 * @returns `before` itself if nothing changed; after an error it is of no use
 */
export function patchValue(
  plan: EntryPlan,
  before: unknown,
  patch: unknown,
  path: readonly PathStep[],
  report: Report,
): unknown {
  if (plan.kind === "whole" || !isJsonObject(patch)) {
    const merged = mergePatch(before, patch);
    return merged === before ? before : check(plan.schema, merged, path, report);
  }
  const held = isJsonObject(before) ? before : undefined;
  let after: Record<string, unknown> | undefined = held === undefined ? {} : undefined;
  for (const name of Object.keys(patch)) {
    const here = [...path, name];
    const member = memberPlan(plan, name, here, report);
    if (member === undefined) continue;
    const change = patch[name];
    if (change === null && plan.kind === "fields" && plan.required.includes(name)) {
      check(member.schema, undefined, here, report);
      continue;
    }
    const old = held === undefined ? undefined : ownMember(held, name);
    const now = change === null ? undefined : patchValue(member, old, change, here, report);
    if (now === old) continue;
    after ??= { ...held };
    if (now === undefined) delete after[name];
    else after[name] = now;
  }
  if (held === undefined && plan.kind === "fields")
    // A field that was given and is wrong is an error already.
    for (const name of plan.required)
      if (!Object.hasOwn(after!, name) && !Object.hasOwn(patch, name))
        check(plan.fields.get(name)!.schema, undefined, [...path, name], report);
  return after ?? before;
}

/** The plan of a member; undefined, with an error, if there is none of this name. */
function memberPlan(
  plan: TablePlan | FieldsPlan,
  name: string,
  path: readonly PathStep[],
  report: Report,
): EntryPlan | undefined {
  if (plan.kind === "table") {
    const checked = plan.key.safeParse(name);
    if (checked.success) return plan.member;
    report(formatPath(path), `is not a valid key: ${checked.error.issues[0]?.message}`);
    return undefined;
  }
  const field = plan.fields.get(name);
  if (field === undefined) report(formatPath(path), "is not a known field");
  return field;
}

function check(schema: z.ZodType, value: unknown, path: readonly PathStep[], report: Report): unknown {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  for (const issue of collectIssues(checked.error, path)) report(issue.path, issue.message);
  return undefined;
}
