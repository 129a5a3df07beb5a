import { RecordType, ResponseCode } from "../../dns/codes.ts";
import type { FoldedName } from "../../dns/folded-name.ts";
import { readPodLabel } from "../../dns/pod-label.ts";
import type { Zone } from "../../zone/frame.ts";
import type { Answer, Missing } from "../answer.ts";
import { minimalAny, negative, positive } from "../finish.ts";
import { type MessageWriter, RECORD_HEADER_BYTES } from "../message/message-writer.ts";
import { type RecordContext, setTtl } from "../message/record-writer.ts";
import type { Query } from "../query.ts";

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
): Answer | Missing | undefined {
  const { world } = context;
  const marker = world.podNames(zone, tree, name);
  if (marker === undefined || "missing" in marker) return marker;
  const bytes = readPodLabel(name.bytes);
  if (bytes === undefined) return undefined;
  const type = bytes.length === 4 ? RecordType.A : RecordType.AAAA;
  if (query.type !== type && query.type !== RecordType.ANY)
    return negative(writer, query, world, apexAt, ResponseCode.NOERROR);
  if (query.type === RecordType.ANY) return minimalAny(writer, query, world, owner);
  if (!writer.hasRoom(RECORD_HEADER_BYTES + bytes.length)) return positive(writer, query);
  const ttl = setTtl(context, marker.names, marker.set);
  writer.writeRecordHeader(owner, type, ttl, bytes.length);
  writer.writeBytes(bytes, 0, bytes.length);
  writer.answers++;
  writer.smallestTtl = Math.min(writer.smallestTtl, ttl);
  return positive(writer, query);
}
