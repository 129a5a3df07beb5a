import type { Finding } from "../snapshot/schema.ts";

/** Reports why an object, or a part of it, is not served; returns what is served instead. */
export type Report = (reason: string, message: string) => undefined;

/** A finding with its key in a snapshot. */
export type KeyedFinding = readonly [key: string, finding: Finding];

/** The object that a finding is about. */
interface FindingSubject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

const MOST_CHARACTERS = 4096;
const MOST_NAME = 253;
const MOST_LISTED = 10;

/**
 * Collects findings about objects: one for each object and reason, with its distinct messages in order.
 */
export class FindingCollector {
  readonly #messages = new Map<string, { finding: Omit<Finding, "message">; messages: Set<string> }>();

  /** A {@link Report} for one object. */
  about(subject: FindingSubject): Report {
    return (reason, message) => {
      const key = findingKey(subject, reason);
      let entry = this.#messages.get(key);
      if (entry === undefined) {
        const { kind, namespace, name } = subject;
        const finding = {
          reason,
          kind,
          ...(namespace === undefined ? {} : { namespace: namespace.slice(0, MOST_NAME) }),
          name: name.slice(0, MOST_NAME),
        };
        entry = { finding, messages: new Set() };
        this.#messages.set(key, entry);
      }
      entry.messages.add(message);
      return undefined;
    };
  }

  /** The findings; empty if there are none. */
  collect(): KeyedFinding[] {
    return Array.from(this.#messages, ([key, { finding, messages }]) => [
      key,
      { ...finding, message: joinMessages([...messages]) },
    ]);
  }
}

function joinMessages(messages: readonly string[]): string {
  const listed = messages.slice(0, MOST_LISTED).join("; ");
  const more = messages.length > MOST_LISTED ? `; and ${messages.length - MOST_LISTED} more` : "";
  return (listed + more).slice(0, MOST_CHARACTERS);
}

// Names that no API server accepts are escaped, so that a key has no white space and stays unique in
// practice.
function findingKey({ kind, namespace, name }: FindingSubject, reason: string): string {
  const place = namespace === undefined ? "" : `${escapeName(namespace)}/`;
  return `${kind}/${place}${escapeName(name)}/${reason}`;
}

function escapeName(name: string): string {
  return name
    .slice(0, MOST_NAME)
    .replace(/[^-A-Za-z0-9.:_]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
    .slice(0, 400);
}
