import { encodeUtf8 } from "../../../snapshot/lines/utf8.ts";
import { hashBlob } from "../../segment/hash.ts";
import type { SourceCluster, ZoneSource } from "../../zone-source.ts";
import type { CompilerState } from "../compiler-state.ts";
import type { ZoneContext } from "../zone-context.ts";
import {
  type CompilerNotes,
  leafName,
  leafOfName,
  NoteKind,
  type ResumedKeys,
  type Summary,
} from "./compiler-notes.ts";
import { readNames, writeNames } from "./names-note.ts";
import { ReverseReader, writeReverse } from "./reverse-note.ts";

/** Notes of one step: some milliseconds. */
const NOTES_IN_STEP = 4;

/**
 * Writes what a compilation changed, in steps, once its leaves are compiled.
 * @param basis `basisOf` the state; undefined if it did not change. The first compilation always has one
 */
export function* writeNotes(
  state: CompilerState,
  source: ZoneSource,
  touched: ReadonlySet<string>,
  basis: string | undefined,
): Generator<void> {
  const { notes, names, reverse, reported } = state;
  const noted = [names.trie.takeNoted(), reverse.trie.takeNoted()] as const;
  const gone = [names.trie.takeGone(), reverse.trie.takeGone()] as const;
  if (notes === undefined) return;
  for (const name of gone[0]) notes.put(NoteKind.names + name, undefined);
  for (const name of gone[1]) notes.put(NoteKind.reverse + name, undefined);
  let count = 0;
  const noteOf = (key: string) => source.noteOf?.(key);
  for (const node of noted[0]) {
    const text = writeNames(node.items!, node.result!.branch, noteOf);
    notes.put(NoteKind.names + leafName(node), text);
    if (++count % NOTES_IN_STEP === 0) yield;
  }
  for (const node of noted[1]) {
    notes.put(NoteKind.reverse + leafName(node), writeReverse(node.items!, node.result!.branch));
    if (++count % NOTES_IN_STEP === 0) yield;
  }
  for (const key of touched) {
    const isReported = source.isReported?.(key) === true;
    if (isReported === reported.has(key)) continue;
    if (isReported) reported.add(key);
    else reported.delete(key);
    notes.put(NoteKind.reported + key, isReported ? "" : undefined);
  }
  const own = basis ?? (JSON.parse(state.summary) as Summary)[0];
  const summary = JSON.stringify([own, reported.size, source.withAbsent] satisfies Summary);
  if (summary !== state.summary) notes.put(NoteKind.summary, summary);
  state.summary = summary;
}

/** What own zones and federations depend on besides entries, in short. */
export function basisOf({ locals }: CompilerState, federated: string): string {
  return hashBlob(encodeUtf8(JSON.stringify([locals.text, federated])));
}

/**
 * Makes a state of notes, in steps.
 * @param federated of the source as it is
 * @throws {Error} if notes are damaged or missing, or zones and federations depend on something else by now
 */
export function* readNotes(
  state: CompilerState,
  notes: CompilerNotes,
  clusters: ReadonlyMap<string, SourceCluster>,
  context: ZoneContext,
  federated: string,
): Generator<void, ResumedKeys> {
  const { names, reverse, locals } = state;
  const resumed = { sizes: new Map<string, number>(), reported: new Set<string>() };
  const reader = new ReverseReader(state.sources);
  let summary: Summary | undefined;
  let count = 0;
  for (const [name, text] of notes.read()) {
    const own = name.slice(1);
    if (name[0] === NoteKind.names) readNames(own, text, state, notes, resumed);
    else if (name[0] === NoteKind.reverse) {
      const leaf = reader.read(text, (hash) => notes.reverse(hash));
      reverse.place(leafOfName(own), leaf, { branch: leaf.branches[0]! });
    } else if (name[0] === NoteKind.reported) state.reported.add(own);
    else {
      state.summary = text;
      summary = JSON.parse(text) as Summary;
    }
    if (++count % NOTES_IN_STEP === 0) yield;
  }
  locals.assume(clusters, context.treeByKey);
  state.federated = federated;
  const isWhole = names.trie.changed.size + reverse.trie.changed.size === 0;
  if (!isWhole || summary?.[0] !== basisOf(state, federated) || summary[1] !== state.reported.size)
    throw new Error("notes are missing, or something else is served");
  // What placing leaves made is written already.
  for (const { trie } of [names, reverse]) trie.takeGone();
  for (const key of state.reported) resumed.reported.add(key);
  return { ...resumed, withAbsent: summary[2] };
}
