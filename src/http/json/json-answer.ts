import { EdnsOption, HEADER_BYTES, HeaderFlag, RecordType } from "../../dns/codes.ts";
import { formatNameAt, formatRdata, MessageError } from "../../dns/presentation.ts";
import { optionEnd, type RecordPlace, readName, readRecord, readWord } from "../../dns/wire-reader.ts";

/** A record in JSON: `data` in the form of zone files (RFC 1035 section 5.1). */
export interface JsonRecord {
  readonly name: string;
  readonly type: number;
  readonly TTL: number;
  readonly data: string;
}

/** An answer in the JSON form that Google's and Cloudflare's resolvers share. */
export interface JsonAnswer {
  /** The response code (RFC 1035 section 4.1.1), extended by RFC 6891. */
  readonly Status: number;
  readonly TC: boolean;
  readonly RD: boolean;
  readonly RA: boolean;
  readonly AD: boolean;
  readonly CD: boolean;
  readonly Question: readonly { readonly name: string; readonly type: number }[];
  readonly Answer?: readonly JsonRecord[];
  readonly Authority?: readonly JsonRecord[];
  readonly Additional?: readonly JsonRecord[];
  readonly Comment: string;
}

/** An Extended DNS Error (RFC 8914 section 2); `text` may be empty. */
export interface ExtendedDnsError {
  readonly code: number;
  readonly text: string;
}

/** A decoded answer with its text forms. */
export interface ReadAnswer {
  readonly json: JsonAnswer;
  readonly isAuthoritative: boolean;
  readonly extendedErrors: readonly ExtendedDnsError[];
}

/** AD (RFC 4035 section 3.2.3). */
const AUTHENTIC = 0x0020;

/**
 * Reads an answer in wire format. The Extended DNS Errors (RFC 8914) are added to `comment`.
 * @throws {MessageError} if the answer is malformed, which answers of other name servers can be
 */
export function readAnswer(answer: Uint8Array, comment: string): ReadAnswer {
  if (answer.length < HEADER_BYTES) throw new MessageError("a message has a header of 12 bytes");
  const flags = readWord(answer, 2);
  const reader = new SectionReader(answer);
  const question = reader.questions(readWord(answer, 4));
  const records = [6, 8, 10].map((at) => reader.records(readWord(answer, at)));
  const [answers, authority, additional] = records.map((section) =>
    section.filter(({ type }) => type !== RecordType.OPT).map((place) => jsonRecord(answer, place)),
  ) as [JsonRecord[], JsonRecord[], JsonRecord[]];
  const opt = records[2]!.find(({ type }) => type === RecordType.OPT);
  const extendedErrors = opt === undefined ? [] : readExtendedErrors(answer, opt);
  const said = extendedErrors.map(
    ({ code, text }) => `Extended DNS Error ${code}${text === "" ? "" : `: ${text}`}`,
  );
  return {
    isAuthoritative: (flags & HeaderFlag.AA) !== 0,
    extendedErrors,
    json: {
      Status: (flags & 0x0f) | (opt === undefined ? 0 : Math.floor(opt.ttl / 0x1000000) << 4),
      TC: (flags & HeaderFlag.TC) !== 0,
      RD: (flags & HeaderFlag.RD) !== 0,
      RA: (flags & HeaderFlag.RA) !== 0,
      AD: (flags & AUTHENTIC) !== 0,
      CD: (flags & HeaderFlag.CD) !== 0,
      Question: question,
      ...(answers.length > 0 && { Answer: answers }),
      ...(authority.length > 0 && { Authority: authority }),
      ...(additional.length > 0 && { Additional: additional }),
      Comment: [...said, comment].join("; "),
    },
  };
}

/** `readAnswer` with only the JSON. @throws {MessageError} */
export function renderJsonAnswer(answer: Uint8Array, comment: string): JsonAnswer {
  return readAnswer(answer, comment).json;
}

/** Walks over the sections of a message, one after the other. */
class SectionReader {
  readonly #message: Uint8Array;
  #at = HEADER_BYTES;

  constructor(message: Uint8Array) {
    this.#message = message;
  }

  questions(count: number): { name: string; type: number }[] {
    return Array.from({ length: count }, () => {
      const start = this.#at;
      const end = readName(this.#message, start);
      if (end < 0 || end + 4 > this.#message.length) throw new MessageError("the question is cut off");
      this.#at = end + 4;
      return { name: formatNameAt(this.#message, start), type: readWord(this.#message, end) };
    });
  }

  records(count: number): RecordPlace[] {
    const places: RecordPlace[] = [];
    for (let left = count; left > 0; left--) {
      const place = readRecord(this.#message, this.#at);
      if (place === undefined) throw new MessageError("a record is cut off");
      this.#at = place.end;
      places.push(place);
    }
    return places;
  }
}

function jsonRecord(message: Uint8Array, place: RecordPlace): JsonRecord {
  return {
    name: formatNameAt(message, place.start),
    type: place.type,
    TTL: place.ttl,
    data: formatRdata(message, place),
  };
}

function readExtendedErrors(message: Uint8Array, { dataStart, end }: RecordPlace): ExtendedDnsError[] {
  const errors: ExtendedDnsError[] = [];
  for (let at = dataStart, next = at; at < end; at = next) {
    next = optionEnd(message, at, end);
    if (next < 0) break;
    if (readWord(message, at) === EdnsOption.EXTENDED_ERROR && next - at >= 6)
      errors.push({
        code: readWord(message, at + 4),
        text: new TextDecoder().decode(message.subarray(at + 6, next)),
      });
  }
  return errors;
}
