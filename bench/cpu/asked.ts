import { decode } from "dns-packet";
import { waitFor } from "../../test/e2e/servers/wait.ts";
import type { WorldSize } from "../../test/worlds/generate.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { askOnce, type DohServer } from "./contenders.ts";

/** `service-0` to `service-99` are headless. */
export const WORLD: WorldSize = {
  clusters: 2,
  services: 500,
  endpointsPerService: 5,
  headlessShare: 0.2,
  seed: 1,
};
/** ClusterSetIP services whose names have the same length, so that all answers have it. */
export const ASKED = Array.from({ length: 400 }, (_, index) => index + 100);
/** The name of one of these services. */
export function nameOf(index: number): string {
  return `service-${index}.team-${Math.floor(index / 100)}.svc.clusterset.local`;
}

/** A query for its addresses. */
export function queryOf(index: number): Uint8Array {
  return encodeQuery(nameOf(index), "A");
}

/** Waits until CoreDNS has loaded everything; both have to say the same, or the comparison means nothing. */
export async function compareAnswers(gateway: DohServer, coredns: DohServer): Promise<void> {
  for (const index of [ASKED[0]!, ASKED.at(-1)!]) {
    const addresses = async (server: DohServer) =>
      decode((await askOnce(server, queryOf(index))).body).answers?.map(
        (record) => "data" in record && record.data,
      );
    await waitFor(`the same answer from CoreDNS for service-${index}`, async () => {
      const [one, other] = [await addresses(gateway), await addresses(coredns)];
      return one?.length === 1 && JSON.stringify(one) === JSON.stringify(other);
    });
  }
}
