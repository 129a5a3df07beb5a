import type { Trunk } from "../generation/generation.ts";
import type { AddressLeaf } from "../reverse/address-trie.ts";
import { HeldSources } from "../reverse/held-sources.ts";
import { ReverseIndex } from "../reverse/reverse-index.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import type { HoldSegment } from "./held-block.ts";
import { KeyFindings } from "./key-findings.ts";
import { LocalZones } from "./local-zones.ts";
import { type NameKey, NameKeys } from "./name-keys.ts";
import { type CompilerNotes, type LeafPlace, leafName, NoteKind } from "./notes/compiler-notes.ts";
import { readNames } from "./notes/names-note.ts";
import { readReverse } from "./notes/reverse-note.ts";
import type { Compiled } from "./pages.ts";
import { StemCounts } from "./stems.ts";
import type { TrieNode } from "./trie/trie.ts";
import type { ZoneContext } from "./zone-context.ts";

/** What segments weigh at most, if they can be smaller: names (see `NameKey`) and PTR records. */
export interface SegmentWeights {
  readonly names: number;
  readonly reverse: number;
  /** Addresses that the first compilation holds with their names, before it compiles what it has of their segments. Default: 65,536. */
  readonly fresh?: number;
  /** What leaves of names, and of addresses, weigh at most that memory has while notes have them. Default: `LeafRows.mostHeld` */
  readonly held?: number;
}

/** What is kept between compilations. */
export interface CompilerState {
  readonly hold: HoldSegment;
  readonly notes: CompilerNotes | undefined;
  readonly names: NameKeys<Compiled<Segment>>;
  readonly reverse: ReverseIndex<Compiled<ReverseSegment>>;
  readonly sources: HeldSources;
  readonly stems: StemCounts;
  readonly locals: LocalZones;
  readonly findings: KeyFindings;
  /** Keys that the source has reports of, for notes. */
  readonly reported: Set<string>;
  /** The newest note of the whole, as text. */
  summary: string;
  /** What federations depend on besides services, as text. */
  federated: string;
  context: ZoneContext | undefined;
  trunk: Trunk | undefined;
  /** Whether the notes are those of another state by now, so that leaves cannot be read any more. */
  isOver: boolean;
}

type NamesLeaf = TrieNode<Set<NameKey>, Compiled<Segment>>;
type ReverseLeaf = TrieNode<AddressLeaf, Compiled<ReverseSegment>>;

/** The state before anything was compiled. With notes, memory has only those leaves that are about to be noted, and some others. */
export function emptyState(
  weights: SegmentWeights,
  hold: HoldSegment,
  notes: CompilerNotes | undefined,
): CompilerState {
  const { held: mostHeld } = weights;
  const sources = new HeldSources();
  const stems = new StemCounts();
  const noteOf = (kind: string, leaf: LeafPlace) => {
    if (state.isOver) throw new Error("the notes are those of a later compilation");
    return notes!.get(kind + leafName(leaf));
  };
  const readNamesOf = (leaf: NamesLeaf) =>
    readNames(noteOf(NoteKind.names, leaf), stems, (hash) => leaf.result?.branch ?? notes!.names(hash));
  const readReverseOf = (leaf: ReverseLeaf) =>
    readReverse(
      noteOf(NoteKind.reverse, leaf),
      sources,
      (hash) => leaf.result?.branch ?? notes!.reverse(hash),
    );
  const state: CompilerState = {
    ...{ hold, notes, sources, stems },
    names: new NameKeys(weights.names, notes && { read: readNamesOf, mostHeld }),
    reverse: new ReverseIndex(weights.reverse, notes && { read: readReverseOf, mostHeld }),
    ...{ locals: new LocalZones(), findings: new KeyFindings(), reported: new Set(), summary: "" },
    ...{ federated: "", context: undefined, trunk: undefined, isOver: false },
  };
  return state;
}
