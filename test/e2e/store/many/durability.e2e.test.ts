import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answered, eventually } from "../../harness/answers.ts";
import { Engine } from "./harness/engine.ts";
import { Gateways } from "./harness/gateways.ts";
import type { Member } from "./harness/member.ts";
import { generationOf, patch, put, type Services } from "./harness/push-requests.ts";
import { ClusterHistory } from "./harness/pushed-states.ts";

const EAST = "east";
const ROUNDS = 6;
let engine: Engine;
let gateways: Gateways;
let one: Member;
let other: Member;

beforeAll(async () => {
  engine = await Engine.start();
  const histories = [new ClusterHistory(EAST, 1)];
  gateways = await Gateways.start({ count: 2, connect: () => engine.connect(), histories });
  [one, other] = gateways.members as [Member, Member];
});

afterAll(async () => {
  await gateways?.stop();
  await engine?.stop();
});

let services: Services;
let generation: number;

beforeEach(async () => {
  services = stateOf("10.9.0.0");
  generation = generationOf(await put(one.gateway, EAST, services));
  await settled(["10.9.0.0"]);
});

/** A state with one address of its own, and one that it always has. */
function stateOf(address: string): Services {
  return { web: { addresses: [address] }, steady: { addresses: ["10.9.255.1"] } };
}

const addressesAt = ({ gateway }: Member) => answered(gateway, "web.shop");
const sendTo = ({ gateway }: Member, after: Services) => patch(gateway, EAST, generation, services, after);

/** Pushes a delta to a gateway, which must take it. */
async function change(member: Member, address: string): Promise<void> {
  await eventually(async () => (await member.gateway.clusterStatus(EAST)).generation).toBe(generation);
  const after = stateOf(address);
  generation = generationOf(await sendTo(member, after));
  services = after;
}

/** As `change`, as soon as the gateway can add to the log again. A push that it rejects until then may be stored all the same. */
async function changeLater(member: Member, address: string): Promise<void> {
  const after = stateOf(address);
  await eventually(async () => {
    ({ generation } = await member.gateway.clusterStatus<{ generation: number }>(EAST));
    const answer = await sendTo(member, after);
    if (answer.status === 200) generation = generationOf(answer);
    return answer.status;
  }).toBe(200);
  services = after;
}

/** Waits until both answer this, and have the same of the log. */
async function settled(addresses: readonly string[]): Promise<void> {
  await eventually(() => Promise.all([one, other].map(addressesAt))).toEqual([addresses, addresses]);
  await eventually(async () => {
    const [first, second] = await Promise.all([one.replica(), other.replica()]);
    expect(second).toEqual(first);
    return typeof first.position;
  }).toBe("number");
}

/** Both in turn: the one that takes a push, and the one beside it. */
function* turns(): Generator<[taker: Member, beside: Member, round: number]> {
  for (let round = 1; round <= ROUNDS; round++)
    yield round % 2 === 1 ? [one, other, round] : [other, one, round];
}

describe("what one of two gateways acknowledged, which take pushes in turn", () => {
  test("is answered by the other one after kill -9 right after it, and by itself once it has started again", async () => {
    for (const [taker, beside, round] of turns()) {
      await change(taker, `10.9.1.${round}`);
      await taker.kill();
      await eventually(() => addressesAt(beside)).toEqual([`10.9.1.${round}`]);
      await change(beside, `10.9.2.${round}`);
      await taker.restart();
      // A gateway is ready when it has loaded all that was acknowledged before.
      expect(await addressesAt(taker)).toEqual([`10.9.2.${round}`]);
      await settled([`10.9.2.${round}`]);
    }
  });

  test("is what both go on from after kill -9 of the one that takes a delta, or that delta is", async () => {
    for (const [taker, beside, round] of turns()) {
      const before = `10.9.3.${round}`;
      await change(taker, before);
      const inFlight = stateOf(`10.9.4.${round}`);
      await Promise.all([sendTo(taker, inFlight).catch(() => {}), taker.kill()]);
      await taker.restart();
      const found = await addressesAt(taker);
      expect([[before], [`10.9.4.${round}`]]).toContainEqual(found);
      await settled(found as string[]);
      services = stateOf(found[0]!);
      ({ generation } = await beside.gateway.clusterStatus<{ generation: number }>(EAST));
    }
  });

  test("is there after kill -9 of the engine, and of the engine with both gateways, and both take pushes again", async () => {
    for (const [taker, beside, round] of turns()) {
      const address = `10.9.5.${round}`;
      await change(taker, address);
      await engine.kill();
      expect(await addressesAt(taker)).toEqual([address]);
      const isAllGone = round % 3 === 0;
      if (isAllGone) for (const member of [taker, beside]) await member.kill();
      await engine.startAgain();
      if (isAllGone) for (const member of [taker, beside]) await member.restart();
      await settled([address]);
      await changeLater(beside, `10.9.6.${round}`);
      await settled([`10.9.6.${round}`]);
    }
  });
});
