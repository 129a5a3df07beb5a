import { expect } from "vitest";
import type { GatewayDependencies } from "../../../src/gateway/gateway.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { replicaOf } from "../../../src/gateway/replica/load-log.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import type { MemoryGatewayLog } from "../../store/shared/memory-gateway-log.ts";
import type { MemoryLog } from "../../store/shared/memory-log.ts";
import type { FakeClock } from "../fake-clock.ts";

/** What tests of one gateway call. */
export type TestedGateway = Pick<
  Gateway<Generation>,
  "held" | "replace" | "change" | "renew" | "leave" | "answer" | "status" | "close"
> & {
  /** Resolves when what follows from the time is answered. Default: it is at once. */
  settled?(): Promise<void>;
};

/** What a gateway is opened with, beside its store. */
export type TestedParts = Omit<GatewayDependencies<Generation>, "store" | "clock" | "remembered"> & {
  readonly clock: FakeClock;
};

interface Member {
  readonly gateway: Gateway<Generation>;
  readonly log: MemoryGatewayLog;
}

/** For how long after their end leases hold while the log is gone. */
const HOLD = 3_600_000;
/** Turns of the event loop in which a gateway compiles what it applied. */
const TURNS = 20;

/** Two gateways that share a log in memory and take requests in turn. Whatever is read is the same at both. */
export class InTurn implements TestedGateway {
  readonly #log: MemoryLog;
  readonly #clock: FakeClock;
  readonly #members: readonly [Member, Member];
  #next = 0;

  private constructor(log: MemoryLog, clock: FakeClock, members: readonly [Member, Member]) {
    this.#log = log;
    this.#clock = clock;
    this.#members = members;
  }

  /** @param parts with a clock whose turns pass by themselves */
  static async open(log: MemoryLog, parts: TestedParts): Promise<InTurn> {
    const open = async () => {
      const own = log.connect();
      return { log: own, gateway: await Gateway.open({ ...parts, store: replicaOf(own, HOLD) }) };
    };
    return new InTurn(log, parts.clock, [await open(), await open()]);
  }

  held: TestedGateway["held"] = (...asked) => this.#taker.held(...asked);
  replace: TestedGateway["replace"] = (...pushed) => this.#take((taker) => taker.replace(...pushed));
  change: TestedGateway["change"] = (...pushed) => this.#take((taker) => taker.change(...pushed));
  renew: TestedGateway["renew"] = (...pushed) => this.#take((taker) => taker.renew(...pushed));
  leave: TestedGateway["leave"] = (...left) => this.#take((taker) => taker.leave(...left));

  answer: TestedGateway["answer"] = (...asked) => {
    const [one, other] = this.#members.map(({ gateway }) => gateway.answer(...asked));
    expect(other?.bytes).toEqual(one?.bytes);
    return one;
  };

  status: TestedGateway["status"] = () => {
    const [one, other] = this.#members.map(({ gateway }) => gateway.status());
    expect(other).toEqual(one);
    return one!;
  };

  /** Resolves when both have applied and compiled all that there is. */
  async settled(): Promise<void> {
    for (;;) {
      await this.#log.settled();
      const { position } = this.#log;
      for (let turn = 0; turn < TURNS; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        await this.#clock.advance(0);
      }
      if (!this.#members.some(({ log }) => log.isBehind) && position === this.#log.position) return;
    }
  }

  close: TestedGateway["close"] = async () => {
    for (const { gateway } of this.#members) await gateway.close();
  };

  get #taker(): Gateway<Generation> {
    return this.#members[this.#next]!.gateway;
  }

  async #take<Result>(request: (taker: Gateway<Generation>) => Promise<Result>): Promise<Result> {
    const taker = this.#taker;
    try {
      const result = await request(taker);
      await this.settled();
      return result;
    } finally {
      this.#next = 1 - this.#next;
    }
  }
}
