import type { Answer } from "dns-packet";
import type { DnsAnswer } from "../../servers/dns.ts";

/** A record as it is compared: data in lower case (RFC 4343), no weight in SRV, no serial in SOA. */
export interface ObservedRecord {
  owner: string;
  ttl: number;
  type: string;
  data: string;
}

/** An answer as it is compared. Sections are sets: sorted, without doubles, without OPT. */
export interface Observed {
  /** NOERROR, NXDOMAIN, …; `no answer` if the server sent nothing. */
  rcode: string;
  aa: boolean;
  tc: boolean;
  answer: ObservedRecord[];
  authority: ObservedRecord[];
  /** Owners in lower case: only the answer and authority sections echo the question. */
  additional: ObservedRecord[];
}

/** What is observed of a server that reads a query and sends no answer. */
export const silence: Observed = {
  rcode: "no answer",
  aa: false,
  tc: false,
  answer: [],
  authority: [],
  additional: [],
};

/** Brings a DNS message into the form that is compared. */
export function observe({ message, rcode, aa, tc }: DnsAnswer): Observed {
  const additional = recordsOf(message.additionals).map((one) => ({
    ...one,
    owner: one.owner.toLowerCase(),
  }));
  return {
    rcode,
    aa,
    tc,
    answer: asSet(recordsOf(message.answers)),
    authority: asSet(recordsOf(message.authorities)),
    additional: asSet(additional),
  };
}

export function asSet(records: Iterable<ObservedRecord>): ObservedRecord[] {
  const byText = new Map(Array.from(records, (record) => [recordText(record), record]));
  return [...byText].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, record]) => record);
}

export function recordText({ owner, ttl, type, data }: ObservedRecord): string {
  return `${owner || "."} ${ttl} ${type} ${data}`;
}

/** An answer on one line if it has no records, else on several. */
export function describe(observed: Observed): string {
  const { rcode, aa, tc, answer, authority, additional } = observed;
  const flags = rcode === silence.rcode ? "" : `${aa ? "" : " without AA"}${tc ? " with TC" : ""}`;
  const isNodata = rcode === "NOERROR" && answer.length === 0;
  return [
    `${isNodata ? "NODATA" : rcode}${flags}`,
    ...answer.map(recordText),
    ...authority.map((record) => `  authority: ${recordText(record)}`),
    ...additional.map((record) => `  additional: ${recordText(record)}`),
  ].join("\n");
}

/** Whether two answers are the same as far as they are compared. */
export function sameObserved(left: Observed, right: Observed): boolean {
  return left.rcode === right.rcode && describe(left) === describe(right);
}

function recordsOf(answers: Answer[] | undefined): ObservedRecord[] {
  return (answers ?? []).flatMap((record) => {
    if (record.type === "OPT") return [];
    const ttl = "ttl" in record ? (record.ttl ?? 0) : 0;
    return [{ owner: record.name, ttl, type: record.type, data: dataText(record) }];
  });
}

function dataText(record: Answer): string {
  switch (record.type) {
    case "A":
    case "AAAA":
    case "CNAME":
    case "NS":
    case "PTR":
      return record.data.toLowerCase() || ".";
    case "SRV": {
      const { priority, port, target } = record.data;
      return `${priority} ${port} ${target.toLowerCase()}`;
    }
    case "SOA": {
      const { mname, rname, refresh, retry, expire, minimum } = record.data;
      return `${mname.toLowerCase()} ${rname.toLowerCase()} ${refresh} ${retry} ${expire} ${minimum}`;
    }
    case "TXT":
      return JSON.stringify(String(record.data));
    default:
      return JSON.stringify((record as { data?: unknown }).data);
  }
}
