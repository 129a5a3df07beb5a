import { bytesToHex } from "@noble/hashes/utils.js";
import { isJsonObject, ownMember } from "../json-value.ts";
import { COLLECTIONS, createSha256, SINGLES } from "../parse.ts";
import type { Report } from "../report.ts";
import type { ClusterSnapshot } from "../schema.ts";
import { encodeUtf8 } from "./json-syntax.ts";
import {
  type EntryPatch,
  LINES_FORMAT_VERSION,
  type LinesEnd,
  type LinesHeader,
  type SnapshotPatch,
} from "./patch-line.ts";
import { COLLECTION_PLANS, type EntryPlan, splitPatch } from "./split-patch.ts";

/** Characters of an entry that goes into one line: about as many as 1,000 endpoints have. */
const LONG_CHARACTERS = 32 * 1024;

/** A snapshot as lines, each with its newline: the header, every entry, the end. */
export function encodeSnapshot(
  snapshot: ClusterSnapshot,
  report?: Report,
): Generator<Uint8Array<ArrayBuffer>> {
  return sealLines(snapshot.clusterId, changeTexts(snapshot), report);
}

/** A patch on a snapshot of a cluster as lines, each with its newline. */
export function encodeChanges(
  clusterId: string,
  patch: SnapshotPatch,
  report?: Report,
): Generator<Uint8Array<ArrayBuffer>> {
  return sealLines(clusterId, changeTexts(patch), report);
}

function* sealLines(
  clusterId: string,
  changes: Iterable<string>,
  report: Report = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const hash = createSha256();
  let lines = 0;
  const seal = (text: string) => {
    const bytes = encodeUtf8(`${text}\n`);
    hash.update(bytes);
    lines++;
    return bytes;
  };
  const header: LinesHeader = { formatVersion: LINES_FORMAT_VERSION, clusterId, ...report };
  yield seal(JSON.stringify(header));
  for (const text of changes) yield seal(text);
  const end: LinesEnd = { lines, sha256: bytesToHex(hash.digest()) };
  yield encodeUtf8(`${JSON.stringify(end)}\n`);
}

/** The changes of a snapshot, or of a patch on one, as the texts of lines. */
function* changeTexts(patch: SnapshotPatch): Generator<string> {
  for (const name of SINGLES) {
    const value = ownMember(patch, name);
    if (value !== undefined) yield JSON.stringify([name, value]);
  }
  for (const collection of COLLECTIONS) {
    const table = ownMember(patch, collection);
    if (!isJsonObject(table)) continue;
    const { member } = COLLECTION_PLANS[collection];
    for (const key of Object.keys(table)) {
      if (table[key] === undefined) continue;
      yield* entryTexts(member, [collection, key], table[key] as EntryPatch);
    }
  }
}

function* entryTexts(plan: EntryPlan, path: readonly [string, string], patch: EntryPatch): Generator<string> {
  const text = JSON.stringify([...path, patch]);
  if (patch === null || plan.kind === "whole" || text.length <= LONG_CHARACTERS) yield text;
  else for (const piece of splitPatch(plan, patch)) yield JSON.stringify([...path, piece]);
}
