import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import type { GatewayStatus } from "../../../src/gateway/gateway-types.ts";
import { replicaOf } from "../../../src/gateway/replica/load-log.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import type { MemoryGatewayLog } from "../../store/shared/memory-gateway-log.ts";
import { MemoryLog } from "../../store/shared/memory-log.ts";
import { FakeClock } from "../fake-clock.ts";
import { realStages } from "../real-stages.ts";

/** A clock whose time the test sets, and whose turns pass by themselves. */
export class RunningClock extends FakeClock {
  override nextTurn(run: () => void): void {
    setImmediate(run);
  }
}

/** A gateway of several that share a log. */
export interface Member {
  readonly gateway: Gateway<Generation>;
  readonly log: MemoryGatewayLog;
  readonly events: GatewayEvent[];
}

/** Gateways that share a log in memory. */
export class Replicas {
  readonly clock = new RunningClock(Date.UTC(2026, 5, 1));
  readonly log = new MemoryLog({ now: () => this.clock.now() });
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

  /** Starts one more gateway. */
  async add(leaseHold = 3_600_000, clock = this.clock): Promise<Member> {
    const log = this.log.connect();
    const events: GatewayEvent[] = [];
    const gateway = await Gateway.open({
      ...{ store: replicaOf(log, leaseHold), stages: realStages(), clock, scopes: this.#scopes },
      onEvent: (event) => events.push(event),
    });
    const member = { gateway, log, events };
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

  /** Resolves when every gateway has applied and compiled all that there is. */
  async settled(): Promise<void> {
    for (;;) {
      await this.log.settled();
      const { position } = this.log;
      for (let turn = 0; turn < 20; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        await this.clock.advance(0);
      }
      const busy = this.members.some(({ log }) => log.isBehind);
      if (!busy && position === this.log.position) return;
    }
  }

  /**
   * Gives all gateways their connections back. Resolves when they have followed the log to its end.
   * @param pending requests: one that waits for an entry that nobody applies gives up after a while
   */
  async rejoin(pending: readonly Promise<void>[]): Promise<void> {
    for (const { log } of this.members) {
      log.release();
      log.reconnect();
    }
    await this.settled();
    await this.pass(12_000);
    await Promise.all(pending);
    await this.settled();
  }

  /** Ends a gateway as a crash does, and starts another one in its place. */
  async restart(index: number): Promise<void> {
    const [{ log }] = this.members.splice(index, 1) as [Member];
    await log.close();
    const member = await this.add();
    this.members.splice(this.members.indexOf(member), 1);
    this.members.splice(index, 0, member);
  }

  async close(): Promise<void> {
    for (const { gateway } of this.members) await gateway.close();
  }
}

/** What gateways at equal positions must have in common. */
export function sharedStatus(gateway: Gateway<Generation>, scope?: Visibility) {
  const within = scope === undefined ? gateway : gateway.within(scope);
  const { rootHash, position, clusters, conflicts, findings, ready } = within.status() as GatewayStatus;
  const live = clusters
    .filter((cluster) => cluster.live)
    .map(({ clusterId, generation, exports, imports }) => ({ clusterId, generation, exports, imports }));
  return { rootHash: ready ? rootHash : undefined, position, live, conflicts, findings, ready };
}
