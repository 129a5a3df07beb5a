import type { RecordType } from "dns-packet";
import { queryBytes } from "../../servers/dns.ts";
import type { Question } from "../questions.ts";

/** The wire bytes of a question, with EDNS, so that no client is taken for an old one. */
export function queryFor({ name, type }: Question, id: number): Buffer {
  // dns-packet writes a type that it has no name for, such as HTTPS (RFC 9460), by its number.
  const asked = type === "HTTPS" ? "UNKNOWN_65" : type;
  return queryBytes({ name, type: asked as RecordType, edns: true }, id);
}
