import { decode } from "dns-packet";
import { waitFor } from "../../test/e2e/servers/wait.ts";
import { askOnce } from "../processes/ask.ts";
import { ASKED, queryOf } from "../worlds/asked.ts";
import type { DohServer } from "./doh-server.ts";

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
