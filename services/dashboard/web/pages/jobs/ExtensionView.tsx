import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "../../address.tsx";
import { ApiError } from "../../api/errors.ts";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { jobsTexts as texts } from "./texts.ts";

/** `QueryView` of a part that needs an extension: without it the view says so and leads to where it is installed. */
export function ExtensionView<T>({ extension, query, ...rest }: {
  extension: string;
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  isEmpty?: (data: T) => boolean;
  empty?: ReactNode;
}) {
  if (query.error instanceof ApiError && query.error.message.includes(extension) && query.data === undefined) {
    return (
      <EmptyState
        icon="plug"
        title={query.error.message}
        action={<Link to="schema/extensions" search={{ find: extension }}>{texts.extension(extension)}</Link>}
      />
    );
  }
  return <QueryView query={query} {...rest} />;
}
