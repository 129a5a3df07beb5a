import type { ServiceListing } from "../../../names/services.ts";
import type { JsonExplanation } from "../../explain/json-explanation.ts";
import type { HttpRequest } from "../../messages/http-message.ts";
import { type ExplainedAnswer, explainedAnswer } from "../look-up/explained-answer.ts";
import type { PageParts } from "../page-parts.ts";

/** A service of a request. */
export interface AskedService {
  readonly namespace: string;
  readonly name: string;
  /** A cluster id; undefined for the client's own view. */
  readonly view: string | undefined;
}

/** What is answered of a service in one view, and why. */
export interface ServiceFacts extends AskedService {
  /** Both families, in the order of the answers. */
  readonly addresses: JsonExplanation["records"];
  readonly addressCount: number;
  /** The names of endpoints: targets of SRV records, absolute. */
  readonly endpoints: readonly string[];
  /** Undefined if it is not served in the view, or not in memory. */
  readonly listing: ServiceListing | undefined;
  /** By cluster id. */
  readonly leases: JsonExplanation["leases"];
  /** Of the A query; the rest of it is the same for all types. */
  readonly explanation: JsonExplanation;
  /** The view and the age of the answers as text. */
  readonly comment: string;
}

/** Queries A, AAAA and SRV as the client would: what it may not see is answered as what does not exist. */
export async function serviceFacts(
  parts: PageParts,
  service: AskedService,
  request: HttpRequest,
): Promise<{ readonly error: string } | ServiceFacts> {
  const { namespace, name, view } = service;
  const own = `${name}.${namespace}.svc.${parts.zones[0]!}`;
  const answers: ExplainedAnswer[] = [];
  for (const type of ["A", "AAAA", "SRV"]) {
    const answer = await explainedAnswer(parts, { search: `name=${own}&type=${type}`, view }, request);
    if ("error" in answer) return answer;
    answers.push(answer);
  }
  const [v4, v6, srv] = answers.map((answer) => answer.explanation) as [
    JsonExplanation,
    JsonExplanation,
    JsonExplanation,
  ];
  const targets = new Set(srv.records.map(({ data }) => data.split(" ")[3]!));
  targets.delete(v4.question.name);
  const leases = new Map([v4, v6, srv].flatMap((one) => one.leases.map((lease) => [lease.clusterId, lease])));
  return {
    ...service,
    addresses: [...v4.records, ...v6.records],
    addressCount: v4.recordCount + v6.recordCount,
    endpoints: [...targets],
    listing: parts.directory.service(namespace, name, v4.view.cluster),
    leases: [...leases.values()],
    explanation: v4,
    comment: answers[0]!.comment,
  };
}
