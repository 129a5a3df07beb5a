import type { Trunk } from "../generation/generation.ts";
import { HeldSources } from "../reverse/held-sources.ts";
import { ReverseIndex } from "../reverse/reverse-index.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import type { HoldSegment } from "./held-block.ts";
import { KeyFindings } from "./key-findings.ts";
import { LocalZones } from "./local-zones.ts";
import { NameKeys } from "./name-keys.ts";
import type { CompilerNotes } from "./notes/compiler-notes.ts";
import type { Compiled } from "./pages.ts";
import { StemCounts } from "./stems.ts";
import type { ZoneContext } from "./zone-context.ts";

/** What segments weigh at most, if they can be smaller: names (see `NameKey`) and PTR records. */
export interface SegmentWeights {
  readonly names: number;
  readonly reverse: number;
  /** Addresses that the first compilation holds with their names, before it compiles what it has of their segments. Default: 65,536. */
  readonly fresh?: number;
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
}

/** The state before anything was compiled. */
export function emptyState(
  weights: SegmentWeights,
  hold: HoldSegment,
  notes: CompilerNotes | undefined,
): CompilerState {
  return {
    ...{ hold, notes },
    ...{
      names: new NameKeys(weights.names),
      reverse: new ReverseIndex(weights.reverse),
      sources: new HeldSources(),
      stems: new StemCounts(),
      locals: new LocalZones(),
    },
    ...{ findings: new KeyFindings(), reported: new Set(), summary: "" },
    ...{ federated: "", context: undefined, trunk: undefined },
  };
}
