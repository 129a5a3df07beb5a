const HEAD = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">`;
const TOKEN =
  /\s*<(?:(key|string)>([^<]*)<\/\1|integer>(\d+)<\/integer|(true|false)\/|(dict|array)|\/(dict|array))>\s*/y;

/** Reads an XML property list (Apple, plist(5)) strictly, as JSON: any other element is an error. */
export function parsePropertyList(xml: string): unknown {
  if (!xml.startsWith(HEAD) || !xml.endsWith("</plist>\n")) throw new Error("this is no property list");
  const body = xml.slice(HEAD.length, -"</plist>\n".length);
  let json = "";
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < body.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(body);
    if (found === null) throw new Error(`${body.slice(at, at + 40)} is not a value`);
    const [, kind, text = "", integer, truth, begins, ends] = found;
    if (ends !== undefined) json = json.replace(/,$/, "") + (ends === "dict" ? "}," : "],");
    else if (begins !== undefined) json += begins === "dict" ? "{" : "[";
    else if (kind === undefined) json += `${integer ?? truth},`;
    else json += `${JSON.stringify(plain(text))}${kind === "key" ? ":" : ","}`;
  }
  return JSON.parse(json.replace(/,$/, ""));
}

function plain(text: string): string {
  if (/&(?!amp;|lt;|gt;)/.test(text)) throw new Error(`a bare & in ${text}`);
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
