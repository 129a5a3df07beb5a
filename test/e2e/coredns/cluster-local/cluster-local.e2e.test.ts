import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../../harness/processes.ts";
import { type CoreDns, kubernetesPlugin, startCoreDns } from "../../servers/coredns.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { waitFor } from "../../servers/wait.ts";
import { askCoreDns } from "../comparison/ask-coredns.ts";
import { askGateway } from "../comparison/ask-gateway.ts";
import { Evidence } from "../comparison/comparison.ts";
import { judge, problemsOf, unnoticedChanges } from "../comparison/judge.ts";
import { summarize } from "../differences/difference.ts";
import { localDifferences } from "./differences/index.ts";
import { applyFixture } from "./fixture.ts";
import { type LocalPlace, localPlaces, type PodMode } from "./place.ts";
import { localQuestions, localZone } from "./questions.ts";

const modes: PodMode[] = ["disabled", "insecure", "verified"];

describe("a cluster's own zone compared with CoreDNS 1.15 on the same API server", () => {
  let api: ApiServer;
  let gateway: GatewayProcess;
  const nameServers = new Map<PodMode, CoreDns>();
  const workers: SyncProcess[] = [];
  const evidence = new Map<PodMode, Evidence<LocalPlace>>();

  beforeAll(async () => {
    // One cluster for each mode, all of them on one API server.
    [api, gateway] = await Promise.all([
      startApiServer({ name: "own-zone" }),
      startGateway({ clusters: modes }),
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
    const questions = localQuestions();
    const theirs = await askCoreDns(nameServers.get(mode)!.port, questions);
    const url = `${gateway.url}/clusters/${mode}/dns-query`;
    const ours = await askGateway(url, gateway.ca, questions);
    evidence.set(mode, new Evidence(questions, theirs, ours, localPlaces(mode)));
    const verdict = judge(evidence.get(mode)!, localDifferences);
    expect(problemsOf(verdict)).toBeUndefined();
    const { compared, same } = verdict;
    console.info(`pods ${mode}: ${compared} questions, ${same} answers the same`);
    expect(compared).toBeGreaterThan(3000);
    expect(same).toBeGreaterThan(compared / 3);
  });

  test("each known difference occurred, with the answers of its example", () => {
    const seen = modes.flatMap((mode) => [...judge(evidence.get(mode)!, localDifferences).explained.keys()]);
    expect([...new Set(seen)].sort()).toEqual(localDifferences.map(({ id }) => id).sort());
    const examples = localDifferences.map(({ id, mode = "disabled", example: { question } }) => {
      const pair = evidence.get(mode)!.pairFor(question);
      return { id, coredns: pair && summarize(pair.coredns), ours: pair && summarize(pair.ours) };
    });
    expect(examples).toEqual(
      localDifferences.map(({ id, example: { coredns, ours } }) => ({ id, coredns, ours })),
    );
  });

  test("any other difference would be found", () => {
    expect(unnoticedChanges(evidence.get("insecure")!, localDifferences)).toEqual([]);
  });

  test("without a source cluster the zone does not exist", async () => {
    for (const name of [`v4.shop.svc.${localZone}`, localZone, "2.1.96.10.in-addr.arpa"])
      expect(await gateway.lookup(name, "A")).toMatchObject({ rcode: "REFUSED", values: [] });
  });
});
