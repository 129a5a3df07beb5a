import { equalJson } from "../../../src/snapshot/json-value.ts";
import {
  type AddressOrders,
  BaseChanged,
  type LogDraft,
  type LogEntry,
} from "../../../src/store/shared/shared-log.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { HeldState, type Taken, type TakenDraft } from "./held-state.ts";
import { MemoryGatewayLog } from "./memory-gateway-log.ts";

/** Characters of lines and ranks in one entry of the log; larger changes are read with `stateOf`. */
const MOST_CHARACTERS = 262_144;

/** A log in memory that several gateways of one process share. */
export class MemoryLog {
  readonly #connected = new Set<MemoryGatewayLog>();
  readonly #now: () => number;
  readonly #mostCharacters: number;
  /** Every change that counts, of which the log has those after `#trimmed`. */
  #taken: Taken[] = [];
  #trimmed = 0;
  #ids = 0;
  #state = new HeldState();

  /** @param now the clock of the log, in milliseconds */
  constructor({ now = Date.now, mostCharacters = MOST_CHARACTERS } = {}) {
    this.#now = now;
    this.#mostCharacters = mostCharacters;
  }

  /** The log as one more gateway has it. */
  connect(): MemoryGatewayLog {
    const log = new MemoryGatewayLog(this);
    this.#connected.add(log);
    return log;
  }

  /** Of the newest entry; 0 for none. */
  get position(): number {
    return this.#taken.length;
  }

  get now(): number {
    return this.#now();
  }

  get state(): HeldState {
    return this.#state;
  }

  /** Every change that counts, in order. */
  get taken(): readonly Taken[] {
    return this.#taken;
  }

  /** The id at a position; undefined where there is no entry. */
  idAt(position: number): string | undefined {
    return position === 0 ? "" : this.#taken[position - 1]?.id;
  }

  /** The entry at a position, as gateways get it; undefined if it was trimmed. */
  entryAt(position: number): LogEntry | undefined {
    const taken = position > this.#trimmed ? this.#taken[position - 1] : undefined;
    return taken && JSON.parse(JSON.stringify(this.#entryOf(taken)));
  }

  /** Forgets entries, but not the state beside them. @param kept how many of the newest stay; at least one */
  trim(kept = 1): void {
    this.#trimmed = Math.max(this.#trimmed, this.position - Math.max(kept, 1));
  }

  /** The engine loses the newest entries, and what they changed. Gateways notice as soon as they are connected. */
  loseLast(count: number): void {
    this.#taken = this.#taken.slice(0, Math.max(0, this.position - count));
    this.#trimmed = Math.min(this.#trimmed, Math.max(0, this.position - 1));
    this.#state = new HeldState();
    for (const taken of this.#taken) this.#state.take(taken);
    this.#wake();
  }

  loseEverything(): void {
    this.loseLast(this.position);
  }

  /** Resolves when each gateway that is connected and follows has applied everything. */
  async settled(): Promise<void> {
    for (;;) {
      const busy = [...this.#connected].filter((log) => log.isBehind);
      if (busy.length === 0) return;
      await Promise.all(busy.map((log) => log.round()));
    }
  }

  /** What `SharedLog.append` does. */
  append({ clusterId, base, change, sight, founding, mark }: LogDraft): { position: number; id: string } {
    const before = this.#state.clusters.get(clusterId);
    if (before?.id !== base) throw new BaseChanged(`${clusterId}: ${before?.id}, not ${base}`);
    if (change.kind !== "snapshot" && before?.meta === undefined && change.kind !== "left")
      throw StoreError.noSnapshot(clusterId);
    if (change.kind === "expired") {
      const { renewedAt, expiresAt } = before!.meta!;
      if (this.now < before!.renewedAt + expiresAt - renewedAt)
        throw new BaseChanged(`${clusterId}: the lease has not ended`);
    }
    const lines = change.kind === "snapshot" || change.kind === "patch" ? [...change.lines] : [];
    const meta = "meta" in change ? change.meta : undefined;
    const generation = change.kind === "left" ? change.generation : undefined;
    const draft: TakenDraft = {
      ...{ clusterId, base, kind: change.kind, generation, meta },
      ...{ lines, sight, founding },
    };
    return this.#take({ draft: structuredClone(draft) }, mark);
  }

  /** What `SharedLog.decide` does. */
  decide(orders: AddressOrders, before: AddressOrders, position: number): void {
    const left = new Set(
      this.#taken
        .slice(position)
        .flatMap((taken) => ("draft" in taken && taken.draft.kind === "left" ? taken.draft.clusterId : [])),
    );
    const decided = Object.entries(orders).filter(([address, order]) => {
      const held = this.#state.orders.get(address) ?? null;
      if ((order ?? []).some((claim) => left.has(claim.split(" ")[0]!))) return false;
      return equalJson(held, before[address] ?? null) && !equalJson(held, order);
    });
    if (decided.length > 0) this.#take({ orders: structuredClone(Object.fromEntries(decided)) });
  }

  #take(
    what: { draft: TakenDraft } | { orders: AddressOrders },
    mark = String(++this.#ids),
  ): { position: number; id: string } {
    const position = this.position + 1;
    const taken = { ...what, position, id: `${position}-${mark}`, at: this.now };
    this.#taken.push(taken);
    this.#state.take(taken);
    this.#wake();
    return { position, id: taken.id };
  }

  #wake(): void {
    for (const log of this.#connected) void log.round();
  }

  #entryOf(taken: Taken): LogEntry {
    const { position, id } = taken;
    if ("orders" in taken) return { kind: "orders", position, orders: taken.orders };
    const { kind, clusterId, generation, meta, lines, sight, founding } = taken.draft;
    const entry = { kind, position, id, clusterId, generation, meta, founding };
    const ranks = JSON.stringify(sight)?.length ?? 0;
    const small = ranks > this.#mostCharacters ? entry : { ...entry, sight };
    if (kind !== "patch" || ranks + JSON.stringify(lines).length > this.#mostCharacters) return small;
    return { ...small, lines };
  }
}
