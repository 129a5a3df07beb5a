import type { Database } from "../database/driver.ts";
import type { Change } from "../database/prepare.ts";
import { storeFailure } from "../database/store-error.ts";
import type { Applied, Event, Writer } from "../database/writer.ts";
import type { Turns } from "./clock.ts";
import { type Clock, unixTime } from "./clock.ts";
import type { OnGatewayEvent, StoreTrouble } from "./gateway-types.ts";

/** Takes over what was applied to the database. */
export interface ChangeFollower {
  applied(applied: Applied): void;
  /** All rows may be others than before. */
  reloaded(): void;
}

/** Puts changes in an order, and applies them to the database in it. */
export interface ChangeOrder {
  /**
   * Whether other gateways append, too: then it alone ends leases, and a change that it does not take changes
   * nothing here.
   */
  readonly isShared: boolean;
  /** Why nothing can be appended; undefined while it can. */
  readonly trouble?: StoreTrouble | undefined;
  /**
   * When all changes that there were had been applied, in Unix milliseconds; undefined where they always are.
   */
  readonly caughtUpAt?: number | undefined;
  /** Begins to say what is applied. Called once. */
  follow(follower: ChangeFollower): void;
  /**
   * Resolves when a change is applied, durable, and was said to the follower. What it builds on is read
   * before this returns.
   * @throws {StaleChange} where something else was done to its cluster first: it has to be decided again
   * @throws where the disk fails, the host's error; {StoreError} where the order cannot be had
   */
  append(change: Change | Event): Promise<void>;
  close(): void;
}

/** What an order that several gateways share is opened with. */
export interface OrderParts {
  readonly database: Database;
  /** Of this database. */
  readonly writer: Writer;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
}

/** An order that several gateways share, with the clock by which times in its rows are to be read. */
export interface SharedOrder extends ChangeOrder {
  readonly clock: Clock;
}

/** The order of a gateway that alone changes its database: at once, a large change in turns with others. */
export function ownOrder(writer: Writer, clock: Clock, turns: Turns): ChangeOrder {
  let follower: ChangeFollower | undefined;
  try {
    writer.start(unixTime(clock, clock.now()));
  } catch (error) {
    // What it decides here, it decides again with the next push.
    if (storeFailure(error) === undefined) throw error;
  }
  return {
    isShared: false,
    follow(given) {
      follower = given;
    },
    async append(change) {
      const steps = "entries" in change ? writer.applyInSteps(change) : [writer.apply(change)];
      for (const applied of steps) {
        follower?.applied(applied);
        if (applied.cluster.isPartial) await turns.run(oneStep());
      }
    },
    close() {},
  };
}

function* oneStep(): Generator<void> {
  yield;
}
