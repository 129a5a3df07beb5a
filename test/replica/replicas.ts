import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import { Writer } from "../../src/database/writer.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../src/gateway/gateway-types.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { Replica } from "../../src/replica/replica.ts";
import { TurningClock } from "../gateway/fake-clock.ts";
import { memoryDatabase, openKeyed } from "../gateway/open-keyed.ts";
import { type MemoryConnection, MemoryLog } from "./memory-log.ts";

/** A gateway of several that share a log. */
export interface Member {
  readonly gateway: Gateway;
  readonly replica: Replica;
  readonly log: MemoryConnection;
  readonly database: ReturnType<typeof memoryDatabase>;
  readonly events: GatewayEvent[];
}

/** For how long after their end leases hold while the log is gone. */
const HOLD = 3_600_000;

/** Gateways that share a log in memory. */
export class Replicas {
  readonly clock = new TurningClock(Date.UTC(2026, 5, 1));
  readonly log = new MemoryLog(() => this.clock.now());
  readonly members: Member[] = [];
  readonly #scopes: readonly Visibility[];

  constructor(scopes: readonly Visibility[] = []) {
    this.#scopes = scopes;
  }

  static async start(count: number, scopes?: readonly Visibility[]): Promise<Replicas> {
    const replicas = new Replicas(scopes);
    for (let index = 0; index < count; index++) await replicas.add();
    return replicas;
  }

  /** Starts one more gateway. @param database with which it goes on; default: an empty one */
  async add({ database = memoryDatabase(), hold = HOLD } = {}): Promise<Member> {
    const log = this.log.connect();
    const events: GatewayEvent[] = [];
    const onEvent = (event: GatewayEvent) => void events.push(event);
    const writer = new Writer(database, () => {});
    const replica = await Replica.open(log, { database, writer, clock: this.clock, onEvent });
    const gateway: Gateway = openKeyed({
      database,
      writer,
      reader: new Reader(database, (damage) => gateway.damaged(damage)),
      clock: replica.clock,
      order: replica,
      hold,
      scopes: this.#scopes,
      onEvent,
    });
    const member = { gateway, replica, log, database, events };
    this.members.push(member);
    return member;
  }

  /** Lets time pass. */
  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 500) {
      await this.clock.advance(Math.min(500, left));
      await this.settled();
    }
  }

  /** Resolves when every gateway has applied all that there is, and has looked whether leases ended. */
  async settled(): Promise<void> {
    let quiet = 0;
    while (quiet < 8) {
      const { position } = this.log;
      for (let turn = 0; turn < 10; turn++) {
        await setImmediate();
        await this.clock.advance(0);
      }
      this.log.wake();
      const isBusy = this.members.some(
        ({ replica, log }) =>
          log.isReachable && (replica.trouble !== undefined || replica.position !== this.log.position),
      );
      quiet = isBusy || position !== this.log.position ? 0 : quiet + 1;
      if (isBusy) await this.clock.advance(100);
    }
  }

  /**
   * Gives all gateways their connections back. Resolves when they have followed the log to its end.
   * @param pending requests: one that waits for an entry gives up after a while
   */
  async rejoin(pending: readonly Promise<void>[] = []): Promise<void> {
    for (const { log } of this.members) {
      log.release();
      log.reconnect();
    }
    await this.settled();
    await this.pass(12_000);
    await Promise.all(pending);
    await this.settled();
  }

  /** Ends a gateway as a crash does, and starts another one over its database, or an empty one. */
  async restart(index: number, keeps: boolean): Promise<void> {
    const [{ log, database }] = this.members.splice(index, 1) as [Member];
    log.close();
    await setImmediate();
    const member = await this.add(keeps ? { database } : {});
    this.members.splice(this.members.indexOf(member), 1);
    this.members.splice(index, 0, member);
  }

  /** The clusters that each gateway answers from, which have equal rows. */
  agree(): string[] {
    const [first, ...others] = this.members.map((member) => ({ rows: rowsOf(member), live: liveOf(member) }));
    for (const other of others) expect(other).toEqual(first);
    return first!.live;
  }

  async close(): Promise<void> {
    for (const { gateway } of this.members) await gateway.close();
  }
}

/** All rows of a gateway's database, and where it is in the log: equal at equal positions. */
export function rowsOf({ database }: Pick<Member, "database">): object {
  const all = (sql: string) => database.prepare(sql).all();
  return {
    entries: all(
      "SELECT cluster, kind, name, part, key, text, reported, counts, sum FROM entry ORDER BY 1, 2, 3, 4",
    ),
    claims: all("SELECT bucket, cluster, text, sum FROM claim ORDER BY 1, 2"),
    clusters: all("SELECT id, text, sum FROM cluster ORDER BY id"),
    meta: all("SELECT * FROM meta WHERE name IN ('entry', 'founding') ORDER BY name"),
    position: all("SELECT max(position) AS position FROM log"),
  };
}

/** What a gateway answers from. */
export function liveOf({ gateway }: Member): string[] {
  return gateway.everything.status().clusters.flatMap(({ live, clusterId }) => (live ? [clusterId] : []));
}

/** The generation of the first cluster by its id. */
export function generationOf({ gateway }: Member): number {
  return gateway.everything.status().clusters[0]!.generation;
}

/** Reads the database of a gateway. */
export function readerOf({ database }: Pick<Member, "database">): Reader {
  return new Reader(database, ({ cluster }) => {
    throw new Error(`a row of ${cluster} is damaged`);
  });
}
