import type { AnswerQuery } from "../../answer/answer-query.ts";
import type { DohGateway } from "../../gateway/scoped-gateway.ts";
import type { EndpointAt } from "../doh/endpoints.ts";
import type { SetupRequest } from "../setup/facts.ts";
import type { Directory, Listed } from "./directory.ts";

/** The addresses of the gateway other than its URL. */
export interface Reach extends Pick<SetupRequest, "addresses" | "outside" | "dns" | "dot"> {
  /** The self-signed certificate in PEM, if any. */
  readonly certificate?: string | undefined;
}

/** The facts about a host that the pages show. */
export interface PageSettings {
  readonly directory: Directory;
  /** `https://HOST[:PORT]`; default: the address of the request. */
  readonly publicUrl?: string | undefined;
  /** The other addresses of the gateway; called for each page. */
  readonly reach?: () => Reach;
}

/** The parts of the pages. */
export interface PageParts extends PageSettings {
  readonly gateway: DohGateway;
  readonly answerQuery: AnswerQuery;
  readonly endpointAt: EndpointAt;
  /** What is served now, for explanations; undefined while there is none. */
  readonly listed: () => Listed | undefined;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The pages show names in the first one. */
  readonly zones: readonly string[];
  readonly version: string;
}
