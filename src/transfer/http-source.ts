import { readAtMost } from "../dns/bounded-body.ts";
import type { Clock } from "../gateway/clock.ts";
import { withTimesAhead } from "../gateway/leases.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../merge/visibility.ts";
import { NONCE_FIELD, newNonce, SIGNATURE_FIELD, type Signed, type TransferKeys } from "./signature.ts";
import type { TransferCounters } from "./transfer-state.ts";
import { parseTransferState, type TransferSource, type TransferState } from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How a primary is reached over HTTP. */
interface HttpTransferOptions {
  /**
   * The gateway that is the primary, as in `https://doh.example.org:8443`; a path before `/api/v1` may
   * follow.
   */
  readonly gateway: string;
  /** Bearer token, where the primary requires one. */
  readonly token?: string;
  /** What exists in what the source gives; the primary must have the same scope. Default: everything. */
  readonly scope?: Visibility;
  /** Default: the host's. */
  readonly fetch?: (url: string, request: RequestInit) => Promise<Response>;
  /**
   * Keys, one of which the primary signs with: what it does not sign is rejected. Default: nothing is
   * verified.
   */
  readonly keys?: TransferKeys;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
  readonly counters?: TransferCounters;
}

/**
 * The longest part that is taken, in bytes: a service with 20,000 endpoints in each of some clusters has some
 * MiB.
 */
export const MOST_PART_BYTES = 16 * 1024 * 1024;
const MOST_STATE_BYTES = 8 * 1024 * 1024;
/** Milliseconds, where the caller sets no bound of its own. */
const TIMEOUT = 10_000;
/** The routes' code for a part that the log does not have any more. */
export const UNKNOWN_PART = "UNKNOWN_PART";

/**
 * A primary over HTTP (docs/reference/transfer.md). Keeps nothing, so that each state is as new as can be;
 * its times are given by this clock, as of when the state was requested, so that a primary whose clock
 * differs prolongs no lease.
 */
export class HttpTransferSource implements TransferSource {
  readonly #base: string;
  readonly #scope: string;
  readonly #options: HttpTransferOptions;

  /** @throws {TypeError} where the gateway is no http or https URL */
  constructor(options: HttpTransferOptions) {
    const url = URL.canParse(options.gateway) ? new URL(options.gateway) : undefined;
    if (url?.protocol !== "https:" && url?.protocol !== "http:")
      throw new TypeError(`the primary must be an https URL, not ${JSON.stringify(options.gateway)}`);
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, "")}/api/v1/transfer`;
    this.#scope = visibilityKey(options.scope ?? EVERYTHING);
    this.#options = options;
  }

  async state(_maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    const { clock = Date.now, keys } = this.#options;
    const requestedAt = clock();
    const scope = this.#scope;
    const path = scope === "" ? "state" : `state?${new URLSearchParams({ scope })}`;
    const nonce = keys && newNonce();
    const response = await this.#get(
      path,
      "application/json",
      signal,
      nonce === undefined ? {} : { [NONCE_FIELD]: nonce },
    );
    if (response.status !== 200) throw await refusal(response);
    const body = await readBounded(response, MOST_STATE_BYTES, "the state");
    if (nonce !== undefined) await this.#verify(response, ["state", nonce, scope], body);
    const text = new TextDecoder().decode(body);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error(`${this.#base}/state answered 200 without JSON: is it a clusterset-doh gateway?`);
    }
    const state = parseTransferState(value);
    if ((state.scope ?? "") !== scope)
      throw new Error(`the primary answered for the scope ${state.scope ?? "of everything"}, not ${scope}`);
    return byClock(state, requestedAt);
  }

  async part(path: string, signal?: AbortSignal): Promise<Bytes | undefined> {
    const response = await this.#get(path, "application/octet-stream", signal);
    if (response.status !== 200) {
      const error = await refusal(response);
      if (error.code === UNKNOWN_PART) return undefined;
      throw error;
    }
    const body = await readBounded(response, MOST_PART_BYTES, "the part");
    this.#options.counters?.count("primary", body.length);
    await this.#verify(response, ["part", path], body);
    return body;
  }

  async #verify({ headers }: Response, signed: Signed, body: Bytes): Promise<void> {
    await this.#options.keys?.verify(headers.get(SIGNATURE_FIELD), signed, body);
  }

  #get(
    path: string,
    accept: string,
    signal: AbortSignal | undefined,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#options;
    const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    return fetch(`${this.#base}/${path}`, {
      // A redirect could lead the token elsewhere.
      redirect: "manual",
      signal: signal ?? AbortSignal.timeout(TIMEOUT),
      headers: { ...authorization, ...fields, accept, "accept-encoding": "identity" },
    });
  }
}

/** A state that was requested at `requestedAt`, with its times moved as if the primary had said it then. */
function byClock({ at, status, ...rest }: TransferState, requestedAt: number): TransferState {
  const ahead = requestedAt - at;
  const clusters = status.clusters.map((cluster) => withTimesAhead(cluster, ahead));
  const behind = status.behindSince === undefined ? {} : { behindSince: status.behindSince + ahead };
  return { ...rest, at: requestedAt, status: { ...status, ...behind, clusters } };
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

/**
 * Reads a response's body into one buffer.
 * @throws {Error} where it is longer than `most` bytes, or ends early
 */
export async function readBounded(
  response: Response,
  most: number,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  const length = encoded ? undefined : declaredLength(response);
  if (length !== undefined && length > most) {
    await response.body?.cancel();
    throw tooLong(what, most, `${length} bytes`);
  }
  if (length === undefined) {
    const read = await readAtMost(response.body, most);
    if (read === undefined) throw tooLong(what, most, "more");
    return read;
  }
  const body = new Uint8Array(await response.arrayBuffer());
  if (body.length !== length)
    throw new Error(`${what} ended after ${body.length} of ${length} bytes: it is cut off`);
  return body;
}

function declaredLength(response: Response): number | undefined {
  const text = response.headers.get("content-length");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function tooLong(what: string, most: number, has: string): Error {
  return new Error(`${what} may have ${most} bytes and has ${has}: raise the limit, or serve less`);
}

/** Resolves after a time, or once `until` has settled. */
export function sleep(clock: Clock, milliseconds: number, until?: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.setTimer(milliseconds, resolve);
  const end = () => resolve();
  until?.then(end, end);
  return promise.finally(cancel);
}

/**
 * Runs something that is given up after a time.
 * @throws {Error} `late` when that time has passed
 */
export function within<Result>(
  clock: Clock,
  milliseconds: number,
  late: string,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(milliseconds, () => {
      const error = new Error(`${late} within ${milliseconds} ms`);
      reject(error);
      controller.abort(error);
    });
    run(controller.signal).then(resolve, reject).finally(cancel);
  });
}
