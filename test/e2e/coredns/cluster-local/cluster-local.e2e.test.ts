import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../../harness/processes.ts";
import { type CoreDns, kubernetesPlugin, startCoreDns } from "../../servers/coredns.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { waitFor } from "../../servers/wait.ts";
import { ask, viewListeners } from "../comparison/ask.ts";
import { Evidence } from "../comparison/comparison.ts";
import { expectExamples, expectExplained, judge, unnoticedChanges } from "../comparison/judge.ts";
import { localDifferences, ownDifferences } from "../differences/index.ts";
import type { PodMode } from "../place.ts";
import { localZone } from "../questions.ts";
import { applyFixture, localPlaces } from "./fixture.ts";
import { localQuestions } from "./questions.ts";

const modes: PodMode[] = ["disabled", "insecure", "verified"];
/** The names whose answers a mode changes: those of pods, and an alias of one. */
const isOfPods = (name: string) => /(?:^|\.)(?:pod|to-pod\.aliases\.svc)\.cluster\.local$/i.test(name);

describe("a cluster's own zone compared with CoreDNS 1.15 on the same API server", () => {
  let api: ApiServer;
  let gateway: GatewayProcess;
  /** Those of the gateway, by view. */
  let ports: ReadonlyMap<string | undefined, number>;
  const nameServers = new Map<PodMode, CoreDns>();
  const workers: SyncProcess[] = [];
  const evidence = new Map<PodMode, Evidence>();

  beforeAll(async () => {
    // One cluster for each mode, all of them on one API server.
    const listeners = await viewListeners(modes);
    ports = listeners.ports;
    [api, gateway] = await Promise.all([
      startApiServer({ name: "own-zone" }),
      startGateway({ clusters: modes, config: listeners.config }),
    ]);
    await applyFixture(api.admin);
    const kubeconfig = api.kubeconfig();
    await Promise.all(
      modes.map(async (mode) => {
        const plugin = kubernetesPlugin({ kubeconfig, lines: [`pods ${mode}`] });
        nameServers.set(mode, await startCoreDns([plugin]));
        const args = ["--cluster-zone", localZone, "--pods", mode];
        workers.push(startSync({ kubeconfig, clusterId: mode, gateways: [gateway], args }));
        await waitFor(`the services of ${mode} in DNS`, async () => {
          const { values } = await gateway.lookup(`v4.shop.svc.${localZone}`, "A", { view: mode });
          return values.includes("10.96.1.2");
        });
      }),
    );
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await gateway?.stop();
    await Promise.all([...nameServers.values()].map((server) => server.stop()));
    await api?.stop();
  });

  test.each(modes)("pods %s: the answers differ only in the known differences", async (mode) => {
    const all = localQuestions();
    const questions = mode === "disabled" ? all : all.filter(({ name }) => isOfPods(name));
    const theirs = await ask(nameServers.get(mode)!.port, questions);
    const ours = await ask(ports.get(mode)!, questions);
    evidence.set(mode, new Evidence(questions, theirs, ours, localPlaces));
    const verdict = judge(evidence.get(mode)!, localDifferences);
    console.info(`pods ${mode}: ${verdict.compared} questions, ${verdict.same} answers the same`);
    expectExplained(verdict, 1 / 3);
    expect(verdict.compared).toBeGreaterThan(mode === "disabled" ? 20_000 : 1000);
  });

  test("each known difference occurred, and those of this zone alone with their examples", () => {
    const seen = modes.flatMap((mode) => [...judge(evidence.get(mode)!, localDifferences).explained]);
    expect([...new Set(seen)].sort()).toEqual(localDifferences.map(({ title }) => title).sort());
    expectExamples(ownDifferences, ({ mode = "disabled" }) => evidence.get(mode)!);
  });

  test("any other difference would be found", () => {
    for (const mode of modes) expect(unnoticedChanges(evidence.get(mode)!, localDifferences)).toEqual([]);
  });

  test("without a source cluster the zone does not exist", async () => {
    for (const name of [`v4.shop.svc.${localZone}`, localZone, "2.1.96.10.in-addr.arpa"])
      expect(await gateway.lookup(name, "A")).toMatchObject({ rcode: "REFUSED", values: [] });
  });
});
