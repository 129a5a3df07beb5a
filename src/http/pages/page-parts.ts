import type { AnswerQuery } from "../../answer/answer-query.ts";
import type { ClientTests } from "../../answer/client-tests.ts";
import type { DohGateway } from "../../gateway/doh-gateway.ts";
import type { EndpointAt } from "../doh/endpoints.ts";
import type { SetupRequest } from "../setup/setup-facts.ts";
import type { Directory } from "./directory.ts";

/** How clients reach the gateway, beside its URL. */
export interface Reach extends Pick<SetupRequest, "addresses" | "outside" | "dns" | "dot"> {
  /** The self-signed certificate in PEM, where there is one. */
  readonly certificate?: string | undefined;
}

/** What a host says of itself, for the pages. */
export interface PageSettings {
  readonly directory: Directory;
  /** `https://HOST[:PORT]`; unless given, a page takes the address that it was asked by. */
  readonly publicUrl?: string | undefined;
  /** How else clients reach the gateway; asked for anew for each page. */
  readonly reach?: () => Reach;
}

/** What the pages are made from. */
export interface PageParts extends PageSettings {
  readonly gateway: DohGateway;
  readonly answerQuery: AnswerQuery;
  readonly endpointAt: EndpointAt;
  /** Undefined where a host cannot tell what its other parts were asked. */
  readonly clientTests: ClientTests | undefined;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The first is the one that names are shown in. */
  readonly zones: readonly string[];
  readonly version: string;
}
