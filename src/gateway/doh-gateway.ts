import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/transport.ts";
import type { ServingStatus } from "./gateway-types.ts";

/** What the DNS routes need of the gateway. */
export interface DohGateway {
  /**
   * Answers one DNS message. The bytes of `query` are only lent: they are overwritten by the next query.
   * @param view the cluster id of the asker, or the view of a place (`localityView`); undefined for outside
   * @param now Unix milliseconds
   * @param transport how the answer travels; DNS over HTTPS unless told
   * @returns undefined where `query` is no DNS query at all
   */
  answer(query: Uint8Array, view: string | undefined, now: number, transport?: Transport): Answer | undefined;
  /** Whether there is a view of that cluster: it has pushed and has not left. Asked for every query by path. */
  hasCluster(clusterId: string): boolean;
  status(): ServingStatus;
}
