import { toType } from "dns-packet/types.js";
import { NameError, parseName } from "../dns/name.ts";
import { parameter } from "./messages/message.ts";

/** A question from URL parameters. */
interface JsonQuestion {
  /** The DNS query in wire format, with ID 0, which is best for caches (RFC 8484 section 4.1), and RD. */
  readonly query: Uint8Array<ArrayBuffer>;
  /** The value of `ct`, the parameter for the content type in Google's form. */
  readonly contentType: string | undefined;
}

/** The parameters are not a question; `message` is for the person who typed them. */
class JsonQuestionError extends Error {}

/** Type names that people use and dns-packet does not know. */
const MORE_TYPES: Readonly<Record<string, number>> = { HTTPS: 65, SVCB: 64, "*": 255 };

/**
 * Reads `name`, `type`, `cd`, `do` and `ct` (the forms of Google's and Cloudflare's JSON APIs).
 * @returns `error`, a sentence for the person who typed them, if one of them is malformed
 */
export function readJsonQuestion(url: string): JsonQuestion | { readonly error: string } {
  try {
    return readParameters(url);
  } catch (error) {
    if (error instanceof JsonQuestionError) return { error: error.message };
    if (error instanceof NameError)
      return { error: `the parameter name is not a DNS name: ${error.message}` };
    if (error instanceof URIError) return { error: "a parameter has malformed percent-encoding" };
    throw error;
  }
}

/** @throws {JsonQuestionError} @throws {NameError} @throws {URIError} */
function readParameters(url: string): JsonQuestion {
  const name = parameter(url, "name");
  if (name === undefined || name === "")
    throw new JsonQuestionError(
      "the parameter name is missing: ?name=<service>.<namespace>.svc.<zone>&type=A",
    );
  const type = readType(parameter(url, "type"));
  const checkingDisabled = readFlag(url, "cd");
  const dnssecOk = readFlag(url, "do");
  const contentType = parameter(url, "ct");
  return { query: encodeQuery(parseName(name), type, checkingDisabled, dnssecOk), contentType };
}

function readType(text: string | undefined): number {
  if (text === undefined || text === "") return 1;
  const name = text.toUpperCase();
  const digits = /^(?:TYPE)?(\d{1,5})$/.exec(name)?.[1];
  const type = digits === undefined ? (MORE_TYPES[name] ?? toType(name)) : Number(digits);
  if (!(type >= 1 && type <= 65535))
    throw new JsonQuestionError(
      `the parameter type is neither an RR type such as A, AAAA, SRV or PTR nor a number from 1 to 65535: ${JSON.stringify(text.slice(0, 32))}`,
    );
  return type;
}

function readFlag(url: string, name: string): boolean {
  const text = parameter(url, name)?.toLowerCase();
  if (text === undefined || text === "" || text === "0" || text === "false") return false;
  if (text === "1" || text === "true") return true;
  throw new JsonQuestionError(`the parameter ${name} must be 0, 1, false or true`);
}

function encodeQuery(
  name: Uint8Array,
  type: number,
  checkingDisabled: boolean,
  dnssecOk: boolean,
): Uint8Array<ArrayBuffer> {
  const query = new Uint8Array(12 + name.length + 4 + 11);
  const view = new DataView(query.buffer);
  view.setUint16(2, checkingDisabled ? 0x0110 : 0x0100);
  view.setUint16(4, 1);
  query.set(name, 12);
  const afterName = 12 + name.length;
  view.setUint16(afterName, type);
  view.setUint16(afterName + 2, 1);
  // JSON has no packet size, so the OPT record (RFC 6891) allows the largest answer.
  view.setUint16(10, 1);
  view.setUint16(afterName + 5, 41);
  view.setUint16(afterName + 7, 65535);
  view.setUint16(afterName + 11, dnssecOk ? 0x8000 : 0);
  return query;
}
