import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message/transport.ts";
import type { ServingStatus } from "./gateway-types.ts";

/** What the DNS routes need of the gateway. */
export interface DohGateway {
  /**
   * Answers one DNS message. The bytes of `query` are only lent: they are overwritten by the next query.
   * @param view the cluster id of the client, or the view of a place (`localityView`); undefined for outside
   * @param now Unix milliseconds
   * @param transport how the answer travels; DNS over HTTPS unless given
   * @returns undefined where `query` is no DNS query at all; a promise where a part of what is answered from has to come into memory first
   */
  answer(
    query: Uint8Array,
    view: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined | Promise<Answer | undefined>;
  /** Whether there is a view of that cluster: it has pushed and has not left. Called for every query by path. */
  hasCluster(clusterId: string): boolean;
  /** Whether a cluster left on purpose, as far as this process saw it. Absent where clusters do not push. */
  hasLeft?(clusterId: string): boolean;
  status(): ServingStatus;
}
