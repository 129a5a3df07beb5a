export const DNS_MESSAGE = "application/dns-message";
export const DNS_JSON = "application/dns-json";
export const JSON_TYPE = "application/json";
const HTML = "text/html";

/** The type of a Content-Type field without its parameters, in lower case. */
export function essence(contentType: string): string {
  const semicolon = contentType.indexOf(";");
  return (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
}

/**
 * The quality of a media type in an Accept field (RFC 9110 section 12.5.1), from the most
 * specific range that matches; 0 if it is excluded. An absent or empty field accepts everything.
 */
export function acceptQuality(accept: string | null, mediaType: string): number {
  if (accept === null || accept === "" || accept === "*/*" || accept === mediaType) return 1;
  const group = mediaType.slice(0, mediaType.indexOf("/") + 1) + "*";
  let quality = 0;
  let specificity = -1;
  for (const range of accept.split(",")) {
    const type = essence(range);
    const matched = type === mediaType ? 2 : type === group ? 1 : type === "*/*" ? 0 : -1;
    if (matched <= specificity) continue;
    specificity = matched;
    const weight = /;\s*q\s*=\s*([0-9.]+)/i.exec(range)?.[1];
    quality = weight === undefined ? 1 : Math.min(1, Number(weight) || 0);
  }
  return quality;
}

/** Whether an Accept field names a media type itself, not only by a wildcard. */
export function namesMediaType(accept: string | null, mediaType: string): boolean {
  return accept?.split(",").some((range) => essence(range) === mediaType) ?? false;
}

/** Whether an Accept field is that of a browser that shows a page: it names HTML, and prefers it to JSON. */
export function prefersHtml(accept: string | null): boolean {
  return namesMediaType(accept, HTML) && acceptQuality(accept, HTML) > acceptQuality(accept, JSON_TYPE);
}
