/** A value of a property list. */
export type PropertyList = string | number | boolean | PropertyList[] | { [key: string]: PropertyList };

/** Reads an XML property list (Apple, plist(5)) strictly: an unexpected element is an error. */
export function parsePropertyList(xml: string): PropertyList {
  const tokens = [...xml.matchAll(/<[^>]*>|[^<]+/g)].map(([token]) => token);
  let at = 0;
  const skipSpace = () => {
    while (tokens[at]?.trim() === "") at++;
  };
  const take = (expected?: string): string => {
    skipSpace();
    const token = tokens[at++];
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`${token} instead of ${expected}`);
    return token;
  };
  const text = (end: string): string => {
    const token = tokens[at]?.startsWith("<") ? "" : tokens[at++]!;
    if (/&(?!amp;|lt;|gt;)/.test(token)) throw new Error(`a bare & in ${token}`);
    take(end);
    return token.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  };
  const value = (): PropertyList => {
    const token = take();
    switch (token) {
      case "<string>":
        return text("</string>");
      case "<integer>":
        return Number(text("</integer>"));
      case "<true/>":
      case "<false/>":
        return token === "<true/>";
      case "<array>": {
        const list: PropertyList[] = [];
        for (skipSpace(); tokens[at] !== "</array>"; skipSpace()) list.push(value());
        take("</array>");
        return list;
      }
      case "<dict>": {
        const dictionary: { [key: string]: PropertyList } = {};
        for (skipSpace(); tokens[at] !== "</dict>"; skipSpace()) {
          take("<key>");
          dictionary[text("</key>")] = value();
        }
        take("</dict>");
        return dictionary;
      }
      default:
        throw new Error(`${token} is not a value`);
    }
  };
  take('<?xml version="1.0" encoding="UTF-8"?>');
  take(
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
  );
  take('<plist version="1.0">');
  const whole = value();
  take("</plist>");
  skipSpace();
  if (at < tokens.length) throw new Error(`${tokens[at]} behind the end`);
  return whole;
}
