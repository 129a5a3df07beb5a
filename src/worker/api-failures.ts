import { type ApiResource, nameOf, resourcePath } from "./api-resources.ts";
import { ApiError } from "./api-server.ts";
import { SourceError } from "./object-source.ts";

/**
 * The error of a failed list or watch, with the next step for the reader of the log.
 * @param identity whose credentials the API server got
 */
export function explainFailure(resource: ApiResource, cause: unknown, identity: string): SourceError {
  if (cause instanceof SourceError) return cause;
  const name = nameOf(resource);
  const text = describe(cause);
  switch (cause instanceof ApiError ? cause.status : undefined) {
    case 401:
      return new SourceError(
        "API_UNAUTHENTICATED",
        `the API server does not accept the credentials of ${identity} (401) for ${name}; renew them there, they count without a restart. ${text}`,
        true,
        cause,
      );
    case 403: {
      const rule = { apiGroups: [resource.group], resources: [resource.resource], verbs: ["list", "watch"] };
      const message = `RBAC forbids to list and watch ${name}: add the rule ${JSON.stringify(rule)} to the ClusterRole of the sync worker (infra/kubernetes has it). ${text}`;
      return new SourceError("RBAC_FORBIDDEN", message, true, cause);
    }
    case 404:
      return new SourceError(
        "RESOURCE_NOT_SERVED",
        `the API server no longer serves ${name} at ${resourcePath(resource, "*")}; looking for another version. ${text}`,
        false,
        cause,
      );
    default:
      return new SourceError("API_UNREACHABLE", `${name} cannot be read: ${text}`, false, cause);
  }
}

/** The message of an error with those of its causes: undici hides the reason behind "fetch failed". */
export function describe(cause: unknown): string {
  const messages: string[] = [];
  for (let error = cause; error instanceof Error && messages.length < 4; error = error.cause) {
    const { code } = error as NodeJS.ErrnoException;
    const message = error.message || error.name;
    messages.push(typeof code === "string" && !message.includes(code) ? `${message} (${code})` : message);
  }
  return messages.length === 0 ? String(cause) : messages.join(": ");
}
