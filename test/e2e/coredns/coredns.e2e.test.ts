import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { kubernetesPlugin, startCoreDns } from "../servers/coredns.ts";
import { startApiServer } from "../servers/kubernetes/api-server.ts";
import { waitFor } from "../servers/wait.ts";
import { ask, viewListeners } from "./comparison/ask.ts";
import { Evidence } from "./comparison/comparison.ts";
import { expectExamples, expectExplained, judge, unnoticedChanges } from "./comparison/judge.ts";
import type { Observed } from "./comparison/observed.ts";
import { differences } from "./differences/index.ts";
import { applyFixture, fixtureOf } from "./fixture.ts";
import { placesIn } from "./place.ts";
import { questionsFor } from "./questions.ts";

/** A cluster that imports services, with a CoreDNS and a sync worker on one API server. */
type ImportingCluster = Awaited<ReturnType<typeof startCluster>>;

describe("import mode compared with CoreDNS 1.15 on the same API server", () => {
  let east: ImportingCluster;
  let west: ImportingCluster;
  let gateway: GatewayProcess;
  /** Those of the gateway, by view. */
  let ports: ReadonlyMap<string | undefined, number>;
  /** All that east's CoreDNS answers. */
  let eastern: Observed[];
  const workers: SyncProcess[] = [];

  beforeAll(async () => {
    const listeners = await viewListeners([undefined, "east", "west"]);
    ports = listeners.ports;
    [east, west, gateway] = await Promise.all([
      startCluster("east"),
      startCluster("west"),
      startGateway({
        clusters: ["east", "west"],
        speaksFor: { east: "*", west: "*" },
        config: listeners.config,
      }),
    ]);
    await join(east, "10.200.0.2");
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await gateway?.stop();
    for (const cluster of [east, west]) {
      await cluster?.coredns.stop();
      await cluster?.api.stop();
    }
  });

  test("the only cluster's names outside differ only in the known differences", async () => {
    const evidence = await compare(east, undefined);
    eastern = Array.from(evidence.pairs, ({ coredns }) => coredns);
    const verdict = judge(evidence, differences);
    expectExplained(verdict, 1 / 2);
    console.info(`${verdict.compared} questions, ${verdict.same} answers the same`);
    expect(verdict.compared).toBeGreaterThan(3000);
    expect([...verdict.explained].sort()).toEqual(differences.map(({ title }) => title).sort());
    expectExamples(differences, () => evidence);
  });

  test("the same holds in that cluster's view, and any other difference would be found", async () => {
    const evidence = await compare(east, "east", eastern);
    expectExplained(judge(evidence, differences), 1 / 2);
    expect(unnoticedChanges(evidence, differences)).toEqual([]);
  });

  test("each of two clusters' views equals the answers of its own CoreDNS", async () => {
    await join(west, "10.201.0.2");
    expectExplained(judge(await compare(west, "west"), differences), 1 / 2);
    expectExplained(judge(await compare(east, "east", eastern), differences), 1 / 2);
  });

  /** Starts the cluster's sync worker and waits until its address of `v4.shop` is served. */
  async function join({ id, api }: ImportingCluster, address: string): Promise<void> {
    workers.push(startSync({ kubeconfig: api.kubeconfig(), clusterId: id, gateways: [gateway] }));
    await waitFor(`the services of ${id} in DNS`, async () => {
      const { values } = await gateway.lookup("v4.shop.svc.clusterset.local", "A", { view: id });
      return values.includes(address);
    });
  }

  /** Sends both sides all questions, or the gateway alone where CoreDNS's answers are there. */
  async function compare(
    { fixture, coredns }: ImportingCluster,
    view: string | undefined,
    theirs?: Observed[],
  ): Promise<Evidence> {
    const questions = questionsFor(fixture);
    const ours = await ask(ports.get(view)!, questions);
    return new Evidence(questions, theirs ?? (await ask(coredns.port, questions)), ours, placesIn(fixture));
  }
});

async function startCluster(id: "east" | "west") {
  const fixture = fixtureOf(id);
  const api = await startApiServer({ name: id });
  await applyFixture(api.admin, fixture);
  const coredns = await startCoreDns([kubernetesPlugin({ kubeconfig: api.kubeconfig() })]);
  return { id, fixture, api, coredns };
}
