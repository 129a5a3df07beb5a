const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Whether an API server takes a text as a qualified name, such as the key of a label: a name, or a DNS subdomain and a name. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf("/");
  return NAME.test(text.slice(slash + 1)) && (slash < 0 || PREFIX.test(text.slice(0, slash)));
}

/** Whether an API server takes a text as the value of a label. */
export function isLabelValue(text: string): boolean {
  return text === "" || NAME.test(text);
}
