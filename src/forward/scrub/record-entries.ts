import { type RecordPlace, readRecord } from "../../dns/wire-reader.ts";
import type { UpstreamAnswer } from "../upstreams/upstream-answer.ts";
import { readWireName, type WireName } from "./wire-name.ts";

/** A record of the answer section (0) or the authority section (1). */
export interface Entry {
  readonly section: 0 | 1;
  readonly owner: WireName;
  readonly place: RecordPlace;
}

/** The records of both sections, in their order. */
export function readEntries(
  { bytes, answers, authorities }: Pick<UpstreamAnswer, "bytes" | "answers" | "authorities">,
  start: number,
): Entry[] {
  const entries: Entry[] = [];
  let position = start;
  for (let index = 0; index < answers + authorities; index++) {
    const place = readRecord(bytes, position)!;
    position = place.end;
    entries.push({ section: index < answers ? 0 : 1, owner: readWireName(bytes, place.start)!, place });
  }
  return entries;
}
