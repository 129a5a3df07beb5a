import type { ClientRequest } from "../../../access/client.ts";
import type { Answered, AnswerQuery, Endpoint, Unanswered } from "../../../answer/answer-query.ts";
import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { Answer } from "../../../resolve/answer.ts";

/**
 * Answers one message of plain DNS or DNS over TLS; undefined for bytes that are not a query.
 * @param query the caller may reuse its bytes after the call
 * @param clientAddress the socket's remote address
 */
export type AnswerMessage = (
  query: Uint8Array,
  clientAddress: string,
) => Answer | undefined | Promise<Answer | undefined>;

/** Answers the queries of a listener over one of its transports. */
export function createAnswerMessage(
  answerQuery: AnswerQuery,
  endpoint: Endpoint,
  counters: QueryCounters,
): AnswerMessage {
  const { name } = endpoint.transport;
  const answerOf = (answered: Answered | Unanswered): Answer | undefined => {
    if (typeof answered !== "string") return answered.answer;
    counters.malformed(name);
    return undefined;
  };
  return (query, clientAddress) => {
    const answered = answerQuery(new SocketRequest(clientAddress), query, endpoint);
    return answered instanceof Promise ? answered.then(answerOf) : answerOf(answered);
  };
}

/** A client of which only the socket is known. */
class SocketRequest implements ClientRequest {
  readonly client: { readonly address: string };

  constructor(address: string) {
    this.client = { address };
  }

  header(): null {
    return null;
  }
}
