import { FOLD } from "../dns/name.ts";

/** A query for a test's name. */
export interface Sighting {
  /** Unix milliseconds. */
  readonly at: number;
  /** The cluster of its view; undefined for outside. */
  readonly view: string | undefined;
}

/** The label of a test is this and 20 random hex digits. */
const PREFIX = "client-test-";
const DIGITS = 20;
const LABEL_BYTES = PREFIX.length + DIGITS;
const PREFIX_BYTES = Uint8Array.from(PREFIX, (character) => character.charCodeAt(0));
const HEADER_BYTES = 12;
/** A test page needs its sighting only for minutes; the bound protects the memory from strangers. */
const MOST_KEPT = 1000;
const KEPT_MILLISECONDS = 120_000;

/**
 * Finds out whether a client uses this gateway: the page makes it look up a new random name, and the gateway records
 * the query. The name still does not exist.
 */
export class ClientTests {
  readonly #seen = new Map<string, Sighting>();
  readonly #onSeen: (token: string, sighting: Sighting) => void;

  /** @param onSeen called with each sighting that is recorded. Default: nothing is */
  constructor(onSeen: (token: string, sighting: Sighting) => void = () => {}) {
    this.#onSeen = onSeen;
  }

  /** The token of a new test. */
  begin(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(DIGITS / 2));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** A name below `dns.<zone>`, which is the gateway's own: no service can have it. */
  nameFor(token: string, zone: string): string {
    return `${PREFIX}${token}.dns.${zone}`;
  }

  /** The first query for a test's name, if it was recent. */
  sightingOf(token: string, now: number): Sighting | undefined {
    const sighting = this.#seen.get(token);
    return sighting !== undefined && now - sighting.at <= KEPT_MILLISECONDS ? sighting : undefined;
  }

  /**
   * Records a query whose name does not exist, if it is a test's; before the first push no name exists.
   * @param view the cluster of its view; undefined for outside
   */
  look(query: Uint8Array, view: string | undefined, now: number): void {
    if (query[HEADER_BYTES] !== LABEL_BYTES) return;
    let at = HEADER_BYTES + 1;
    for (const byte of PREFIX_BYTES) if (FOLD[query[at++]!] !== byte) return;
    const token = String.fromCharCode(...query.subarray(at, at + DIGITS)).toLowerCase();
    if (isToken(token)) this.record(token, { at: now, view });
  }

  /** Records the first query for a test's name. */
  record(token: string, sighting: Sighting): void {
    if (this.#seen.has(token)) return;
    if (this.#seen.size >= MOST_KEPT) this.#seen.delete(this.#seen.keys().next().value!);
    this.#seen.set(token, sighting);
    this.#onSeen(token, sighting);
  }
}

/** Whether a text has the form of a test's token. */
export function isToken(text: string): boolean {
  return /^[0-9a-f]{20}$/.test(text);
}
