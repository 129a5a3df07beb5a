import type { ScopedGateway } from "../gateway/doh-gateway.ts";
import type { ServedImage } from "../gateway/stages.ts";
import type { TransferState } from "./transfer-state.ts";

type ScopeState = Pick<ScopedGateway, "status" | "current">;

/** What transfers need of the gateway that compiles. */
export interface TransferGateway extends ScopeState {
  /** By `visibilityKey`. Default: everything is the only scope. */
  readonly scopes?: ReadonlyMap<string, ScopeState>;
}

/** Octets of images that were replaced since a state named them, kept for secondaries that are about to fetch them. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** How long such an image is kept, in milliseconds. */
const KEPT_FOR = 10_000;

/**
 * What a primary gives its secondaries: its state, and the images that states named. Where pushes come faster than a secondary's
 * round trip, the image of a state is replaced before it is asked for, so images that a state named lately are kept.
 */
export class Primary {
  readonly #gateway: TransferGateway;
  readonly #clock: () => number;
  readonly #keptBytes: number;
  readonly #named = new Map<string, { readonly bytes: Uint8Array<ArrayBuffer>; at: number }>();

  /**
   * @param clock Unix milliseconds
   * @param keptBytes octets of images beside the newest one that are kept
   */
  constructor(gateway: TransferGateway, clock: () => number = Date.now, keptBytes = KEPT_BYTES) {
    this.#gateway = gateway;
    this.#clock = clock;
    this.#keptBytes = keptBytes;
  }

  /** The state for whom everything exists. */
  state(): TransferState {
    return this.#stateOf(this.#gateway);
  }

  /** The state in a scope, by its `visibilityKey`; undefined where the gateway was not opened with that scope. */
  stateWithin(scope: string): TransferState | undefined {
    const within = this.#gateway.scopes?.get(scope);
    return within && { ...this.#stateOf(within), scope };
  }

  #stateOf(gateway: ScopeState): TransferState {
    const at = this.#clock();
    const { conflicts: _, findings: __, storeTrouble: ___, ...status } = gateway.status();
    const image = gateway.current(at)?.image;
    if (image !== undefined) this.#name(image, at);
    return { at, status };
  }

  /** The octets of the image with that hash, whatever the scope; undefined where it is neither the newest nor was named lately. */
  image(contentHash: string): Uint8Array<ArrayBuffer> | undefined {
    const now = this.#clock();
    const current = this.#newest(now).find((image) => image.contentHash === contentHash);
    if (current !== undefined) return current.bytes;
    const named = this.#named.get(contentHash);
    return named !== undefined && now - named.at < KEPT_FOR ? named.bytes : undefined;
  }

  /** The newest image of each scope. */
  #newest(now: number): ServedImage[] {
    const scopes = [this.#gateway, ...(this.#gateway.scopes?.values() ?? [])];
    return scopes.flatMap((scope) => scope.current(now)?.image ?? []);
  }

  /** Remembers an image as the one that was named last, and forgets others from the oldest on. */
  #name({ contentHash, bytes }: ServedImage, at: number): void {
    this.#named.delete(contentHash);
    // What is the newest of some scope costs nothing more.
    const newest = new Set(this.#newest(at).map((image) => image.contentHash));
    const bytesOf = (hash: string, length: number) => (newest.has(hash) ? 0 : length);
    let others = 0;
    for (const [hash, { bytes: octets }] of this.#named) others += bytesOf(hash, octets.length);
    for (const [oldest, one] of this.#named) {
      if (others <= this.#keptBytes && at - one.at < KEPT_FOR) break;
      this.#named.delete(oldest);
      others -= bytesOf(oldest, one.bytes.length);
    }
    this.#named.set(contentHash, { bytes, at });
  }
}
