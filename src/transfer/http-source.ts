import { EVERYTHING, type Visibility, visibilityKey } from "../merge/visibility/visibility.ts";
import { type Allocate, readBounded } from "./bounded-body.ts";
import { NONCE_FIELD, newNonce, SIGNATURE_FIELD, type Signed, type TransferKeys } from "./signature.ts";
import { parseTransferState } from "./state-message.ts";
import type { OpenTransferSource, TransferState } from "./transfer-state.ts";

/** How a primary is reached over HTTP. */
export interface HttpTransferOptions {
  /** The gateway that is the primary, as in `https://doh.example.org:8443`; a path before `/api/v1` may follow. */
  readonly gateway: string;
  /** Bearer token, where the primary asks for one. */
  readonly token?: string;
  /** What exists in the image; the primary must have the same scope. Default: everything. */
  readonly scope?: Visibility;
  /** Default: the host's. */
  readonly fetch?: (url: string, request: RequestInit) => Promise<Response>;
  /** Keys, one of which the primary signs with: what it does not sign is rejected. Default: nothing is verified. */
  readonly keys?: TransferKeys;
  /** The longest image that is taken, in octets. Default: 128 MiB. */
  readonly imageBytes?: number;
  /** Where the memory of images is from. Default: the host. */
  readonly allocate?: Allocate;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}

/** The longest image that is taken unless told, in octets. */
export const MOST_IMAGE_BYTES = 128 * 1024 * 1024;
const MOST_STATE_BYTES = 8 * 1024 * 1024;
/** Milliseconds, where the caller sets no bound of its own. */
const TIMEOUT = 10_000;
/** The routes' code for an image that is not served any more. */
const UNKNOWN_IMAGE = "UNKNOWN_IMAGE";

/**
 * A primary over HTTP (docs/reference/transfer.md). Keeps nothing, so that each state is as new as can be; its times are given by this
 * clock, as of when the state was asked for, so that a primary whose clock differs prolongs no lease.
 */
export class HttpTransferSource implements OpenTransferSource {
  readonly #base: string;
  readonly #scope: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: (url: string, request: RequestInit) => Promise<Response>;
  readonly #keys: TransferKeys | undefined;
  readonly #imageBytes: number;
  readonly #allocate: Allocate | undefined;
  readonly #clock: () => number;

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
    this.#imageBytes = options.imageBytes ?? MOST_IMAGE_BYTES;
    this.#allocate = options.allocate;
    this.#clock = options.clock ?? Date.now;
  }

  async state(_maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    const asked = this.#clock();
    const scope = this.#scope;
    const path = scope === "" ? "state" : `state?scope=${encodeURIComponent(scope)}`;
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

  async image(contentHash: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const response = await this.#requestImage(contentHash, signal);
    if (response === undefined) return undefined;
    const bytes = await readBounded(response, this.#imageBytes, "the image", this.#allocate);
    await this.#verify(response, { kind: "image", contentHash }, bytes);
    return bytes;
  }

  async openImage(contentHash: string, signal?: AbortSignal): Promise<Response | undefined> {
    if (this.#keys === undefined) return this.#requestImage(contentHash, signal);
    const bytes = await this.image(contentHash, signal);
    return bytes && new Response(bytes, { headers: { "content-length": String(bytes.length) } });
  }

  async #requestImage(contentHash: string, signal?: AbortSignal): Promise<Response | undefined> {
    const response = await this.#get(`images/${contentHash}`, "application/octet-stream", signal);
    if (response.status === 200) return response;
    const error = await refusal(response);
    if (error.code === UNKNOWN_IMAGE) return undefined;
    throw error;
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

/** A state that was asked for at `asked`, with its times moved as if the primary had said it then. */
function byClock({ at, status, ...rest }: TransferState, asked: number): TransferState {
  const ahead = asked - at;
  const clusters = status.clusters.map((cluster) => ({
    ...cluster,
    pushedAt: cluster.pushedAt + ahead,
    renewedAt: cluster.renewedAt + ahead,
    expiresAt: cluster.expiresAt + ahead,
  }));
  const behind = status.behindSince === undefined ? {} : { behindSince: status.behindSince + ahead };
  return { ...rest, at: asked, status: { ...status, ...behind, clusters } };
}

/** A primary that did not give what it was asked for. */
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
    // Told below, as the text that it is.
  }
  return new TransferRefused(response.status, undefined, text.trim().slice(0, 200) || "without a word");
}
