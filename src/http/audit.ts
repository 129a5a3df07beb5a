import type { Context } from "hono";
import { AccessRejected, type CertificateIdentity, type ClientAddress } from "../access/client.ts";
import { ClientNetworks, type Rate, TokenBuckets } from "../limits/client-rate.ts";
import type { LimitCounters } from "../limits/counters.ts";
import type { SnapshotIssue } from "../snapshot/parse.ts";
import type { Code } from "./messages/codes.ts";
import type { AppEnvironment, AuditEntry, AuditFacts, AuditSink } from "./messages/environment.ts";
import type { Rejection } from "./messages/errors.ts";
import { FetchRequest } from "./messages/message.ts";
import type { AuditAction } from "./route-table.ts";

/** The longest text from a request, in characters. */
const MOST_TEXT = 500;
/** The most remembered sources. */
const MOST_SOURCES = 20_000;
/** The common budget of all sources without a known credential, beside a budget for each. */
const UNKNOWN_CLIENTS = 10;

/** The audit log: limits the lines that each source can cause, and counts omitted ones. */
export class AuditLog {
  readonly #sink: AuditSink;
  readonly #counters: LimitCounters | undefined;
  readonly #networks = new ClientNetworks({ exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64 });
  readonly #sources: TokenBuckets;
  readonly #unknownClients: TokenBuckets;
  #leftOut = 0;

  /** @param now monotonic milliseconds */
  constructor(
    sink: AuditSink,
    rate: Rate,
    counters?: LimitCounters,
    now: () => number = () => performance.now(),
  ) {
    this.#sink = sink;
    this.#counters = counters;
    this.#sources = new TokenBuckets(rate, MOST_SOURCES, now);
    const { perSecond, burst } = rate;
    this.#unknownClients = new TokenBuckets(
      { perSecond: UNKNOWN_CLIENTS * perSecond, burst: UNKNOWN_CLIENTS * burst },
      1,
      now,
    );
  }

  record(entry: AuditEntry): void {
    if (!this.#hasRoom(entry)) {
      this.#leftOut++;
      this.#counters?.hit("audit.linesPerSecond");
      return;
    }
    const { cluster, federation, reason, credential } = entry;
    this.#sink({
      ...entry,
      ...cut({ cluster, federation, reason, credential }),
      ...(this.#leftOut > 0 && { leftOut: this.#leftOut }),
    });
    this.#leftOut = 0;
  }

  #hasRoom({ credential, client = "" }: AuditEntry): boolean {
    const source =
      credential === undefined ? `client ${this.#networks.of(client)}` : `credential ${credential}`;
    if (this.#sources.take(this.#sources.of(source)) > 0) return false;
    return credential !== undefined || this.#unknownClients.take(this.#unknownClients.of("")) === 0;
  }
}

function cut(texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, text]) => [name, text.slice(0, MOST_TEXT)]));
}

/** Writes the answers of routes. */
export interface AuditParts {
  readonly audit?: AuditLog | undefined;
  /** Default: no address is known. */
  readonly clientAddress?: ClientAddress | undefined;
}

/**
 * Actions without a line if they succeed: they change nothing, happen every few seconds, or have a line
 * elsewhere.
 */
const QUIET: ReadonlySet<AuditAction> = new Set(["renew", "read", "forward"]);

/** Errors whose messages quote the body. */
const QUOTING: ReadonlySet<Code> = new Set([
  "INVALID_FEDERATION",
  "INVALID_JSON",
  "INVALID_LINE",
  "INVALID_SNAPSHOT",
  "UNSUPPORTED_FORMAT",
]);

/** Called for each answer of a route. @param error the thrown error of a rejected request */
export type OnAnswer = (
  context: Context<AppEnvironment>,
  status: number,
  refused?: Rejection,
  error?: unknown,
) => void;

/** Audits the answers of a route. */
export function auditAnswers(
  { audit, clientAddress }: AuditParts,
  action: AuditAction,
): OnAnswer | undefined {
  if (audit === undefined) return undefined;
  return (context, status, refused, error) => {
    if (refused === undefined && QUIET.has(action)) return;
    const credential = error instanceof AccessRejected ? error.credential : undefined;
    audit.record({
      action,
      outcome: refused === undefined ? "accepted" : "refused",
      status,
      ...(refused !== undefined && { code: refused.code, reason: reasonOf(refused) }),
      cluster: context.req.param("clusterId"),
      federation: context.req.param("name"),
      client: clientAddress?.(new FetchRequest(context.req.raw, context.env?.client)),
      ...(credential !== undefined && { credential }),
      ...context.get("audited"),
    });
  };
}

/** The message of an error; of one in the body only where it is, since the message quotes the body. */
function reasonOf({ code, message, details }: Rejection): string {
  if (!QUOTING.has(code)) return message;
  const { line = (details?.issues as readonly SnapshotIssue[] | undefined)?.[0]?.line } = details ?? {};
  return `the body${line === undefined ? "" : `, line ${line}`}`;
}

/** Adds facts to the line of a request. */
export function noteForAudit(context: Context<AppEnvironment>, facts: AuditFacts): void {
  context.set("audited", { ...context.get("audited"), ...facts });
}

/** The name of a client certificate. */
export function certificateName({ uris, dnsNames, fingerprintSha256 }: CertificateIdentity): string {
  return uris[0] ?? dnsNames[0] ?? `sha256:${fingerprintSha256}`;
}
