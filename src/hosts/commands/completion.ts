import type { Command, Option } from "commander";

/** A shell that has a completion. */
type Shell = "bash" | "zsh" | "fish";

/**
 * The completion of a program for a shell, made from its commands: their names, options and choices. Values
 * of other options are files.
 */
export function completionOf(program: Command, shell: Shell): string {
  if (shell === "fish") return fishCompletion(program);
  const bash = bashCompletion(program);
  return shell === "bash"
    ? bash
    : `#compdef ${program.name()}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -U +X bashcompinit && bashcompinit
${bash}`;
}

/** Works in bash 3.2 and newer. */
function bashCompletion(program: Command): string {
  const name = program.name();
  const commands = program.commands.map((command) => command.name());
  const cases = program.commands.map(
    (command) => `    ${command.name()}) words='${flagsOf(command).join(" ")}' ;;`,
  );
  const choices = new Map<string, string>();
  for (const command of program.commands)
    for (const option of command.options)
      if (option.argChoices !== undefined)
        for (const flag of namesOf(option))
          choices.set(`${command.name()}:${flag}`, option.argChoices.join(" "));
  for (const command of program.commands)
    for (const argument of command.registeredArguments)
      if (argument.argChoices !== undefined) choices.set(`${command.name()}:`, argument.argChoices.join(" "));
  return `_${name.replaceAll("-", "_")}() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.join(" ")} --help --version' -- "$word"))
    return
  fi
  case "$command:$before" in
${[...choices]
  .filter(([at]) => !at.endsWith(":"))
  .map(([at, values]) => `    ${at}) COMPREPLY=($(compgen -W '${values}' -- "$word")); return ;;`)
  .join("\n")}
  esac
  case "$word" in
    -*) ;;
    *)
      case "$command" in
${[...choices]
  .filter(([at]) => at.endsWith(":"))
  .map(([at, values]) => `        ${at.slice(0, -1)}) COMPREPLY=($(compgen -W '${values}' -- "$word")) ;;`)
  .join("\n")}
        *) ;;
      esac
      return ;;
  esac
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _${name.replaceAll("-", "_")} ${name}
`;
}

function fishCompletion(program: Command): string {
  const name = program.name();
  const lines = program.commands.map(
    (command) =>
      `complete -c ${name} -n __fish_use_subcommand -f -a ${command.name()} -d ${quoted(command.description())}`,
  );
  for (const command of program.commands) {
    const when = `complete -c ${name} -n '__fish_seen_subcommand_from ${command.name()}'`;
    for (const option of command.options) {
      const values = option.argChoices === undefined ? "" : ` -x -a '${option.argChoices.join(" ")}'`;
      const value = values === "" && takesValue(option) ? " -r" : values;
      const short = option.short === undefined ? "" : ` -s ${option.short.slice(1)}`;
      lines.push(`${when}${short} -l ${option.long!.slice(2)}${value} -d ${quoted(option.description)}`);
    }
    for (const { argChoices } of command.registeredArguments)
      if (argChoices !== undefined) lines.push(`${when} -f -a '${argChoices.join(" ")}'`);
  }
  return `${lines.join("\n")}\n`;
}

function flagsOf(command: Command): string[] {
  return [...command.options.flatMap(namesOf), "-h", "--help"];
}

function namesOf({ short, long }: Option): string[] {
  return [short, long].filter((name) => name !== undefined);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
