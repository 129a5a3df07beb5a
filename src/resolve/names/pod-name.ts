import { RecordType, ResponseCode } from "../../dns/codes.ts";
import type { FoldedName } from "../../dns/folded-name.ts";
import { readPodLabel } from "../../dns/pod-label.ts";
import type { Zone } from "../../zone/generation/frame.ts";
import { POD_NAMES } from "../../zone/segment/layout.ts";
import { findSet } from "../../zone/segment/record-block.ts";
import type { Answer } from "../answer.ts";
import { minimalAny, negative, positive } from "../finish.ts";
import { type MessageWriter, RECORD_HEADER_BYTES } from "../message/message-writer.ts";
import { type RecordContext, setTtl } from "../message/record-writer.ts";
import type { Query } from "../query.ts";
import { findStem } from "./locate.ts";

/** Answers a pod's name with the address in the name, in namespaces where all such names exist (DNS-based service discovery 1.0.1, section 2.6). */
export function answerPodName(
  writer: MessageWriter,
  query: Query,
  context: RecordContext,
  zone: Zone,
  tree: number,
  name: FoldedName,
  owner: number,
  apexAt: number,
): Answer | undefined {
  const { generation } = context;
  const { frame, stems } = generation;
  if (!frame.podNames) return undefined;
  const namespace = findStem(generation, zone, tree, name, 1);
  const list = namespace < 0 ? 0 : stems.setListOf(namespace, -1);
  const marker = list === 0 ? 0 : findSet(stems.bytes, list, POD_NAMES);
  const bytes = marker === 0 ? undefined : readPodLabel(name.bytes);
  if (bytes === undefined) return undefined;
  const type = bytes.length === 4 ? RecordType.A : RecordType.AAAA;
  if (query.type !== type && query.type !== RecordType.ANY)
    return negative(writer, query, generation, apexAt, ResponseCode.NOERROR);
  if (query.type === RecordType.ANY) return minimalAny(writer, query, generation, owner);
  if (!writer.hasRoom(RECORD_HEADER_BYTES + bytes.length)) return positive(writer, query);
  const ttl = setTtl(context, stems, marker);
  writer.writeRecordHeader(owner, type, ttl, bytes.length);
  writer.writeBytes(bytes, 0, bytes.length);
  writer.answers++;
  writer.smallestTtl = Math.min(writer.smallestTtl, ttl);
  return positive(writer, query);
}
