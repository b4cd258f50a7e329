/** The schema of `/graphql/v1` as a caller sees it, from introspection. */

import { useQuery } from "@tanstack/react-query";
import { buildClientSchema, getIntrospectionQuery, type GraphQLSchema, type IntrospectionQuery } from "graphql";
import { type AppAnswer, type AppCaller, askAsApp } from "../../api/gateway.ts";

export interface GraphqlRequest {
  query: string;
  variables?: unknown;
  operationName?: string;
}

/** Ask GraphQL as the caller. */
export function askGraphql(
  request: GraphqlRequest,
  key: string,
  caller: AppCaller,
  signal?: AbortSignal,
): Promise<AppAnswer> {
  const headers = { "Content-Type": "application/json" };
  return askAsApp({ method: "POST", path: "/graphql/v1", headers, body: JSON.stringify(request) }, key, caller, signal);
}

/** Read the schema that the caller sees; again for another caller. */
export function useSchema(key: string | undefined, caller: AppCaller) {
  return useQuery({
    queryKey: ["graphql-schema", caller?.id ?? ""],
    queryFn: ({ signal }) => readSchema(key!, caller, signal),
    enabled: key !== undefined,
    retry: false,
  });
}

async function readSchema(key: string, caller: AppCaller, signal: AbortSignal): Promise<GraphQLSchema> {
  const answer = await askGraphql({ query: getIntrospectionQuery() }, key, caller, signal);
  const body = JSON.parse(answer.text) as {
    data?: IntrospectionQuery;
    errors?: { message: string }[];
    message?: string;
  };
  if (!body.data) throw new Error(body.errors?.[0]?.message ?? body.message ?? `status ${answer.status}`);
  return buildClientSchema(body.data);
}
