import type * as z from "zod";
import { TransferStateResponse } from "../../transfer/transfer-state.ts";
import { LeaseRequest } from "../push/push-messages.ts";
import { StubRequest } from "../stubs.ts";
import {
  AcknowledgementResponse,
  ClusterResponse,
  ErrorResponse,
  Explanation,
  Federation,
  Federations,
  JsonAnswer,
  SnapshotLine,
  StatusReport,
} from "./schemas.ts";

/** The schemas of the document, by their names there. */
export const SCHEMAS = {
  SnapshotLine,
  LeaseRequest,
  Acknowledgement: AcknowledgementResponse,
  ClusterStatus: ClusterResponse,
  TransferState: TransferStateResponse,
  StubRequest,
  Federation,
  Federations,
  JsonAnswer,
  Explanation,
  StatusReport,
  Error: ErrorResponse,
} satisfies Readonly<Record<string, z.ZodType>>;

export type SchemaName = keyof typeof SCHEMAS;
