import { ExtendedError, HEADER_BYTES, RecordType, ResponseCode } from "../../dns/codes.ts";
import { readWord } from "../../dns/wire-reader.ts";
import { MAX_MESSAGE_BYTES } from "../../resolve/message/limits.ts";
import { OPT_BYTES, type UpstreamAnswer } from "../upstreams/upstream-answer.ts";
import { type Chain, followChain } from "./chain.ts";
import { type DropReason, judgeRecords } from "./judge-records.ts";
import { RecordCopier } from "./record-copier.ts";
import { type Entry, readEntries } from "./record-entries.ts";
import type { ScrubRules } from "./scrub-rules.ts";
import { readWireName } from "./wire-name.ts";

/** The rest of an answer, and the number of removed records. */
export interface Scrubbed {
  readonly answer: UpstreamAnswer;
  readonly dropped: ReadonlyMap<DropReason, number>;
}

/**
 * Removes the records that do not belong to the question, or that a name server has no authority for (RFC 2181 section 5.4.1, RFC 5452 section 6):
 *
 * - in the answer section: all but the CNAME chain from the question's name to the records of its type, with their signatures;
 * - a chain with a target in one of the gateway's zones: such an answer has no records at all;
 * - private addresses, also those in SVCB hints;
 * - in the authority section: all but what a denial needs (SOA, NSEC, NSEC3), from zones that the chain is in;
 * - the additional section.
 *
 * If no record of the question's type is left, the answer is empty, with Extended DNS Error 15 (Blocked). Undefined
 * if the rest does not fit into a message.
 */
export function scrubAnswer(given: UpstreamAnswer, rules: ScrubRules): Scrubbed | undefined {
  const question = readWireName(given.bytes, HEADER_BYTES)!;
  const asked = {
    name: question,
    type: readWord(given.bytes, question.end),
    class: readWord(given.bytes, question.end + 2),
  };
  const questionEnd = question.end + 4;
  const entries = readEntries(given, questionEnd);
  const chain = followChain(given.bytes, entries, asked, rules);
  if (chain === undefined) return blocked(given, questionEnd, new Map([["own-zone", entries.length]]));
  const reasons = judgeRecords(given.bytes, entries, chain, rules);
  const dropped = countReasons(reasons);
  if (dropped.size === 0) {
    const recordsEnd = entries.at(-1)?.place.end ?? questionEnd;
    return { answer: { ...given, recordsEnd, additionals: 0 }, dropped };
  }
  const isRefused = entries.some(
    ({ section }, index) => section === 0 && reasons[index] !== undefined && reasons[index] !== "unrelated",
  );
  if (
    isRefused &&
    !chain.leadsHome &&
    !entries.some((entry, index) => reasons[index] === undefined && isAskedFor(entry, chain))
  )
    return blocked(given, questionEnd, dropped);
  const answer = rebuild(
    given,
    questionEnd,
    question.key,
    entries.filter((_, index) => reasons[index] === undefined),
  );
  return answer && { answer, dropped };
}

function isAskedFor({ section, owner, place }: Entry, { last, asked }: Chain): boolean {
  const isType =
    place.type === asked.type || (asked.type === RecordType.ANY && place.type !== RecordType.RRSIG);
  return section === 0 && isType && owner.key === last.key;
}

function blocked(
  given: UpstreamAnswer,
  questionEnd: number,
  dropped: ReadonlyMap<DropReason, number>,
): Scrubbed {
  return {
    answer: {
      ...given,
      ...{ recordsEnd: questionEnd, answers: 0, authorities: 0, additionals: 0 },
      ...{ rcode: ResponseCode.NOERROR, truncated: false, freshness: 0 },
      extendedError: ExtendedError.BLOCKED,
    },
    dropped,
  };
}

function rebuild(
  given: UpstreamAnswer,
  questionEnd: number,
  question: string,
  kept: readonly Entry[],
): UpstreamAnswer | undefined {
  const copier = new RecordCopier(given.bytes, questionEnd, question, HEADER_BYTES);
  if (!kept.every(({ place }) => copier.copy(place))) return undefined;
  const bytes = copier.finish(MAX_MESSAGE_BYTES - OPT_BYTES);
  if (bytes === undefined) return undefined;
  const answers = kept.filter(({ section }) => section === 0).length;
  return {
    ...given,
    ...{ bytes, recordsEnd: bytes.length, answers, authorities: kept.length - answers, additionals: 0 },
  };
}

function countReasons(reasons: readonly (DropReason | undefined)[]): Map<DropReason, number> {
  const counts = new Map<DropReason, number>();
  for (const reason of reasons) if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}
