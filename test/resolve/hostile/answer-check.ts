import type { Judgement } from "./query-judge.ts";
import { endOfName } from "./query-judge.ts";

/** The longest answers by what they travel by. */
export const LongestAnswer = { message: 65_535, payload: 1232 } as const;

const OPT = 41;
const HEADER = 12;

/** Holds an answer against its query and what that must get; returns what is wrong. */
export function failureOfAnswer(
  query: Buffer,
  answer: Buffer,
  expected: Judgement,
  isDatagram: boolean,
): string | undefined {
  if (answer.length < HEADER) return `an answer of ${answer.length} bytes`;
  if (answer.readUInt16BE(0) !== query.readUInt16BE(0)) return "the ID of another query";
  if ((answer[2]! & 0x80) === 0) return "an answer without QR";
  if ((answer[2]! & 0x78) !== (query[2]! & 0x78)) return "another opcode";
  if (((answer[2]! ^ query[2]!) & 0x01) !== 0) return "RD is not that of the query";
  const isTruncated = (answer[2]! & 0x02) !== 0;
  if (isTruncated && !isDatagram) return "a truncated answer, where there is room for 65,535 bytes";
  const most = isDatagram ? Math.min(expected.payloadBytes, LongestAnswer.payload) : LongestAnswer.message;
  if (answer.length > most) return `${answer.length} bytes; the client takes ${most}`;

  const [questions, ...records] = [4, 6, 8, 10].map((at) => answer.readUInt16BE(at));
  if (questions !== (expected.question.length > 0 ? 1 : 0)) return `${questions} questions`;
  const questionEnd = HEADER + expected.question.length;
  if (answer.compare(expected.question, 0, expected.question.length, HEADER, questionEnd) !== 0)
    return "the question is not that of the query";
  const opts: number[] = [];
  let at = questionEnd;
  for (let left = records.reduce((sum, count) => sum + count, 0); left > 0; left--) {
    const owner = endOfName(answer, at);
    if (owner === undefined || owner + 10 > answer.length) return `a record that cannot be read at ${at}`;
    if (answer.readUInt16BE(owner) === OPT) opts.push(answer[owner + 4]!);
    at = owner + 10 + answer.readUInt16BE(owner + 8);
  }
  if (at !== answer.length) return `${answer.length - at} bytes behind the last record`;
  if (opts.length !== (expected.hasOpt ? 1 : 0)) return `${opts.length} OPT records`;
  const rcode = ((opts[0] ?? 0) << 4) | (answer[3]! & 0x0f);
  if (!expected.rcodes.includes(rcode)) return `rcode ${rcode} instead of ${expected.rcodes.join(" or ")}`;
  return undefined;
}
