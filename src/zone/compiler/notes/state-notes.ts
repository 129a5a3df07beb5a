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
import { readNamesHead, writeNames } from "./names-note.ts";
import { readReverseHead, writeReverse } from "./reverse-note.ts";

type NamesTrie = CompilerState["names"]["trie"];
type ReverseTrie = CompilerState["reverse"]["trie"];
type NamesLeaf = NamesTrie["top"];
type ReverseLeaf = ReverseTrie["top"];

/** Notes of one step: some milliseconds. */
const NOTES_IN_STEP = 4;

/** What a summary is made of, and of which keys. */
interface NotedChange {
  readonly source: ZoneSource;
  readonly touched: ReadonlySet<string>;
  /** `basisOf` the state; undefined if it did not change. The first compilation always has one. */
  readonly basis: string | undefined;
}

/** Notes what a leaf of names was compiled to: then it need not be in memory. */
export function noteNames(
  { notes, names, findings }: CompilerState,
  source: ZoneSource,
  leaf: NamesLeaf,
): void {
  if (notes === undefined) return;
  const facts = {
    noteOf: (key: string) => source.noteOf?.(key),
    hasFindings: (key: string) => findings.has(key),
  };
  notes.put(
    NoteKind.names + leafName(leaf),
    writeNames(names.trie.itemsOf(leaf), leaf.result!.branch!, facts),
  );
  names.trie.kept(leaf);
}

/** Notes what a leaf of addresses was compiled to. One with addresses that are to be decided stays in memory until they are. */
export function noteReverse({ notes, reverse }: CompilerState, leaf: ReverseLeaf): void {
  if (notes === undefined) return;
  const items = reverse.trie.itemsOf(leaf);
  if (items.isUndecided) return;
  notes.put(NoteKind.reverse + leafName(leaf), writeReverse(leaf, items, leaf.result!.branch!));
  reverse.trie.kept(leaf);
}

/** Removes the notes of leaves that are no leaves any more, before those are noted that take their places. */
export function dropGone({ notes }: CompilerState, kind: string, trie: NamesTrie | ReverseTrie): void {
  for (const name of trie.takeGone()) notes?.put(kind + name, undefined);
}

/** Notes, in steps, what is left of what a compilation changed. */
export function* writeNotes(state: CompilerState, { source, touched, basis }: NotedChange): Generator<void> {
  const { notes, names, reverse, reported } = state;
  dropGone(state, NoteKind.names, names.trie);
  dropGone(state, NoteKind.reverse, reverse.trie);
  let count = 0;
  for (const leaf of names.trie.takeNoted()) {
    noteNames(state, source, leaf);
    if (++count % NOTES_IN_STEP === 0) yield;
  }
  for (const leaf of reverse.trie.takeNoted()) {
    noteReverse(state, leaf);
    if (++count % NOTES_IN_STEP === 0) yield;
  }
  if (notes === undefined) return;
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
  const { names, reverse, locals, stems } = state;
  const resumed = { sizes: new Map<string, number>(), reported: new Set<string>() };
  let summary: Summary | undefined;
  let count = 0;
  for (const [name, text] of notes.read()) {
    const own = name.slice(1);
    if (name[0] === NoteKind.names) {
      const { hash, dotted, ...leaf } = readNamesHead(text, stems, resumed);
      names.place(leafOfName(own), dotted, { ...leaf, result: { branch: notes.names(hash) } });
    } else if (name[0] === NoteKind.reverse) {
      const { hash, ...leaf } = readReverseHead(text);
      reverse.place(leafOfName(own), { ...leaf, result: { branch: notes.reverse(hash) } });
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
