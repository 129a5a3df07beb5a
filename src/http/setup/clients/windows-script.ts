import { type ClientSetup, trustStep } from "../client-setup.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/**
 * A PowerShell script: a rule of the Name Resolution Policy Table sends names of the zone to the gateway's addresses, and a DoH
 * template makes Windows query those by DNS over HTTPS.
 */
export function windowsScript(facts: SetupFacts): SetupFile {
  const { zone, resource, host, addresses } = facts;
  const found =
    addresses.length > 0
      ? `@(${addresses.map(quoted).join(", ")})`
      : "@((Resolve-DnsName -Name $Gateway -Type A_AAAA | Where-Object { $_.IPAddress }).IPAddress)";
  return textFile("clusterset-doh.ps1", [
    "#Requires -Version 5.1",
    "#Requires -RunAsAdministrator",
    "$ErrorActionPreference = 'Stop'",
    `$Namespace = ${quoted(`.${zone}`)}`,
    `$Gateway = ${quoted(host)}`,
    `$Template = ${quoted(resource)}`,
    `$Addresses = ${found}`,
    "",
    "foreach ($Address in $Addresses) {",
    "  if (Get-DnsClientDohServerAddress -ServerAddress $Address -ErrorAction SilentlyContinue) {",
    "    Remove-DnsClientDohServerAddress -ServerAddress $Address",
    "  }",
    "  Add-DnsClientDohServerAddress -ServerAddress $Address -DohTemplate $Template -AllowFallbackToUdp $false -AutoUpgrade $true",
    "}",
    "Get-DnsClientNrptRule | Where-Object { $_.Namespace -contains $Namespace } | Remove-DnsClientNrptRule -Force",
    "Add-DnsClientNrptRule -Namespace $Namespace -NameServers $Addresses -Comment 'clusterset-doh'",
    "Clear-DnsClientCache",
    "",
    "# To undo it:",
    "#   Get-DnsClientNrptRule | Where-Object { $_.Comment -eq 'clusterset-doh' } | Remove-DnsClientNrptRule -Force",
    "#   Remove-DnsClientDohServerAddress -ServerAddress ADDRESS",
  ]);
}

export const windows: ClientSetup = {
  id: "windows",
  title: "Windows 11, Windows Server 2022",
  steps: (facts) => [
    "Run the script in PowerShell as administrator. Its last lines undo it.",
    `Only names of ${facts.zone} go to the gateway. Check with \`Resolve-DnsName ${facts.example.name} -Type ${facts.example.type}\`.`,
    ...trustStep(facts),
  ],
  files: [windowsScript],
};

/** A verbatim string: PowerShell ends one at typographic single quotes, too. */
function quoted(text: string): string {
  return `'${text.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`;
}
