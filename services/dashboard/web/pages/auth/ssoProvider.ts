/** An identity provider as auth shows it. Pure. */

import type { JsonValue, SsoProviderAnswer } from "../../generated/operations.ts";

export interface SsoProvider {
  id: string;
  entityId: string;
  domains: readonly string[];
  isDisabled: boolean;
  resourceId: string;
  metadataUrl: string;
  mapping: JsonValue | null;
  createdAt: string | null;
}

type Members = { readonly [name: string]: JsonValue };

/** Read the members that are shown; missing ones are empty. */
export function ssoProviderOf({ provider }: SsoProviderAnswer): SsoProvider {
  const saml = membersOf(provider["saml"]);
  const domains = Array.isArray(provider["domains"]) ? provider["domains"] : [];
  return {
    id: textOf(provider["id"]),
    entityId: textOf(saml["entity_id"]),
    domains: domains.map((domain) => textOf(membersOf(domain)["domain"])).filter(Boolean),
    isDisabled: provider["disabled"] === true,
    resourceId: textOf(provider["resource_id"]),
    metadataUrl: textOf(saml["metadata_url"]),
    mapping: saml["attribute_mapping"] ?? null,
    createdAt: textOf(provider["created_at"]) || null,
  };
}

function membersOf(value: JsonValue | undefined): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
