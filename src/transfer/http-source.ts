import { withTimesAhead } from "../gateway/leases/degraded.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../merge/visibility/visibility.ts";
import { hashBlob } from "../zone/segment/hash.ts";
import { readBounded } from "./parts/bounded-body.ts";
import { changePart, PartChangeError } from "./parts/part-change.ts";
import { readRootNews } from "./parts/root-responses.ts";
import type { TransferCounters } from "./parts/transfer-counters.ts";
import { NONCE_FIELD, newNonce, SIGNATURE_FIELD, type Signed, type TransferKeys } from "./signature.ts";
import { parseTransferState } from "./state-message.ts";
import type {
  NamedBytes,
  PartKind,
  TransferredRoot,
  TransferSource,
  TransferState,
} from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How a primary is reached over HTTP. */
export interface HttpTransferOptions {
  /** The gateway that is the primary, as in `https://doh.example.org:8443`; a path before `/api/v1` may follow. */
  readonly gateway: string;
  /** Bearer token, where the primary requires one. */
  readonly token?: string;
  /** What exists in the generations; the primary must have the same scope. Default: everything. */
  readonly scope?: Visibility;
  /** Default: the host's. */
  readonly fetch?: (url: string, request: RequestInit) => Promise<Response>;
  /** Keys, one of which the primary signs with: what it does not sign is rejected. Default: nothing is verified. */
  readonly keys?: TransferKeys;
  /** The longest root or segment that is taken, in bytes. Default: 16 MiB. */
  readonly partBytes?: number;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
  readonly counters?: TransferCounters;
}

/** The longest root or segment that is taken, in bytes: a root has 16 for each segment, and one service with 100,000 endpoints makes a segment of some MiB. */
export const MOST_PART_BYTES = 16 * 1024 * 1024;
const MOST_STATE_BYTES = 8 * 1024 * 1024;
/** Milliseconds, where the caller sets no bound of its own. */
const TIMEOUT = 10_000;
/** The field of a response with the hash of the root that the body is a change of. */
export const SINCE_FIELD = "clusterset-since";
/** The routes' codes for a root or a segment that is not served any more. */
export const UNKNOWN_PART = { root: "UNKNOWN_ROOT", segment: "UNKNOWN_SEGMENT" } as const;

/**
 * A primary over HTTP (docs/reference/transfer.md). Keeps nothing, so that each state is as new as can be; its times are given by this
 * clock, as of when the state was requested, so that a primary whose clock differs prolongs no lease.
 */
export class HttpTransferSource implements TransferSource {
  readonly #base: string;
  readonly #scope: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: (url: string, request: RequestInit) => Promise<Response>;
  readonly #keys: TransferKeys | undefined;
  readonly #partBytes: number;
  readonly #clock: () => number;
  readonly #counters: TransferCounters | undefined;

  /** @throws {TypeError} where the gateway is no http or https URL */
  constructor(options: HttpTransferOptions) {
    const url = URL.canParse(options.gateway) ? new URL(options.gateway) : undefined;
    if (url?.protocol !== "https:" && url?.protocol !== "http:")
      throw new TypeError(`the primary must be an https URL, not ${JSON.stringify(options.gateway)}`);
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, "")}/api/v1/transfer`;
    this.#scope = visibilityKey(options.scope ?? EVERYTHING);
    this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
    this.#fetch = options.fetch ?? ((address, request) => fetch(address, request));
    this.#keys = options.keys;
    this.#partBytes = options.partBytes ?? MOST_PART_BYTES;
    this.#clock = options.clock ?? Date.now;
    this.#counters = options.counters;
  }

  async state(_maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    const asked = this.#clock();
    const scope = this.#scope;
    const path = this.#path("state");
    const nonce = this.#keys && newNonce();
    const response = await this.#get(
      path,
      "application/json",
      signal,
      nonce === undefined ? {} : { [NONCE_FIELD]: nonce },
    );
    if (response.status !== 200) throw await refusal(response);
    const body = await readBounded(response, MOST_STATE_BYTES, "the state");
    if (nonce !== undefined) await this.#verify(response, { kind: "state", nonce, scope }, body);
    const text = new TextDecoder().decode(body);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error(`${this.#base}/state answered 200 without JSON: is it a clusterset-doh gateway?`);
    }
    const state = parseTransferState(value);
    // An older primary knows no scopes, and would give what nobody here may see.
    if ((state.scope ?? "") !== scope)
      throw new Error(`the primary answered for everything, not for the scope ${scope}: update it first`);
    return byClock(state, asked);
  }

  async root(hash: string, since?: NamedBytes, signal?: AbortSignal): Promise<TransferredRoot | undefined> {
    const part = await this.#part("root", hash, since, signal);
    if (part?.before === undefined) return part && { bytes: part.body, segments: [] };
    const { change, segments } = readRootNews(part.body);
    this.#counters?.count("primary", segments.length, 0);
    return {
      bytes: changePart(part.before, change, this.#partBytes),
      segments: segments.map((bytes) => ({ hash: hashBlob(bytes), bytes })),
    };
  }

  async segment(hash: string, since?: NamedBytes, signal?: AbortSignal): Promise<Bytes | undefined> {
    const part = await this.#part("segment", hash, since, signal);
    return part?.before === undefined ? part?.body : changePart(part.before, part.body, this.#partBytes);
  }

  /** A part, or a change of the part `before`. */
  async #part(
    kind: PartKind,
    hash: string,
    before: NamedBytes | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly body: Bytes; readonly before: Bytes | undefined } | undefined> {
    const path = this.#path(`${kind}s/${hash}`, before === undefined ? {} : { since: before.hash });
    const response = await this.#get(path, "application/octet-stream", signal);
    if (response.status !== 200) {
      const error = await refusal(response);
      if (error.code === UNKNOWN_PART[kind]) return undefined;
      throw error;
    }
    const body = await readBounded(response, this.#partBytes, `the ${kind}`);
    this.#counters?.count("primary", kind === "segment" ? 1 : 0, body.length);
    const since = response.headers.get(SINCE_FIELD) ?? "";
    if (kind === "root") await this.#verify(response, { kind, hash, since }, body);
    if (since === "") return { body, before: undefined };
    if (before?.hash !== since) throw new PartChangeError(`the primary sent the change of another ${kind}`);
    return { body, before: before.bytes };
  }

  /** A path with the scope: the primary has roots and segments of that scope only. */
  #path(path: string, query: Readonly<Record<string, string>> = {}): string {
    const all = { ...query, ...(this.#scope !== "" && { scope: this.#scope }) };
    const text = Object.entries(all).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return text.length === 0 ? path : `${path}?${text.join("&")}`;
  }

  async #verify({ headers }: Response, signed: Signed, body: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#keys?.verify(headers.get(SIGNATURE_FIELD), signed, body);
  }

  #get(
    path: string,
    accept: string,
    signal: AbortSignal | undefined,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.#fetch(`${this.#base}/${path}`, {
      // A redirect could lead the token elsewhere.
      redirect: "manual",
      signal: signal ?? AbortSignal.timeout(TIMEOUT),
      headers: { ...this.#headers, ...fields, accept, "accept-encoding": "identity" },
    });
  }
}

/** A state that was requested at `asked`, with its times moved as if the primary had said it then. */
function byClock({ at, status, ...rest }: TransferState, asked: number): TransferState {
  const ahead = asked - at;
  const clusters = status.clusters.map((cluster) => ({
    ...cluster,
    pushedAt: cluster.pushedAt + ahead,
    renewedAt: cluster.renewedAt + ahead,
    expiresAt: cluster.expiresAt + ahead,
    ...withTimesAhead(cluster, ahead),
  }));
  const behind = status.behindSince === undefined ? {} : { behindSince: status.behindSince + ahead };
  return { ...rest, at: asked, status: { ...status, ...behind, clusters } };
}

/** A primary that did not return what was requested. */
class TransferRefused extends Error {
  readonly status: number;
  /** The primary's own code, where it said one. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, explanation: string) {
    super(`the primary answered ${status}: ${explanation}`);
    this.status = status;
    this.code = code;
  }
}

const MOST_EXPLANATION_BYTES = 64 * 1024;

async function refusal(response: Response): Promise<TransferRefused> {
  let text = "";
  try {
    text = new TextDecoder().decode(await readBounded(response, MOST_EXPLANATION_BYTES, "the explanation"));
    const error = JSON.parse(text) as { readonly code?: unknown; readonly message?: unknown } | null;
    if (typeof error?.code === "string")
      return new TransferRefused(response.status, error.code, `${error.message}`);
  } catch {
    // Reported below, as text.
  }
  return new TransferRefused(response.status, undefined, text.trim().slice(0, 200) || "without a word");
}
