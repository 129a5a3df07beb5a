import { isDeepStrictEqual } from "node:util";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import type { Answered } from "../harness/answers.ts";
import { type GatewayClient, shorten } from "../harness/gateway-client.ts";
import { waitFor } from "../servers/wait.ts";

/** An answer, and whether it is marked as stale. */
export interface Seen {
  /** The time before the query, in Unix milliseconds. */
  asked: number;
  answer: Answered;
  stale: boolean;
}

/** Extended DNS Errors 3 and 19 (RFC 8914 sections 4.4 and 4.20). */
const STALE = [3, 19];

/** Queries the addresses of a name, which is given without `.svc.clusterset.test`. */
export async function see(gateway: GatewayClient, name: string): Promise<Seen> {
  const asked = Date.now();
  const answer = await gateway.query(`${name}.svc.clusterset.test`, "A");
  const { rcode, values } = shorten(answer);
  const found = values.length > 0 ? values : "NODATA";
  const stale = STALE.includes(extendedErrors(answer.raw)[0] ?? -1);
  return { asked, answer: rcode === "NOERROR" ? found : rcode, stale };
}

/** Queries until the expected answer comes and is not stale. @returns all answers on the way */
export async function seeUntil(gateway: GatewayClient, name: string, expected: Answered): Promise<Seen[]> {
  const all: Seen[] = [];
  await waitFor(`${name} is ${expected}`, async () => {
    const seen = await see(gateway, name);
    all.push(seen);
    return isDeepStrictEqual(seen.answer, expected) && !seen.stale;
  }).catch((cause: Error) => {
    throw new Error(`${cause.message}; it is ${JSON.stringify(all.at(-1))}`, { cause });
  });
  return all;
}
