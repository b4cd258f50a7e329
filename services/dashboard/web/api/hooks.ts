/** React hooks over the client: queries, changes, the signed-in administrator, values. */

import {
  keepPreviousData,
  QueryClient,
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import { createContext, useContext, useSyncExternalStore } from "react";
import type { Me } from "../generated/operations.ts";
import { toast } from "../components/toasts.ts";
import { type Arguments, type OperationName, type Result, run } from "./client.ts";
import { ApiError, isStopped, OfflineError } from "./errors.ts";
import { may } from "./rights.ts";
import type { Value } from "./signals.ts";

/** Make the cache of answers. A refused request is not repeated; one that got no answer is, when the platform is back. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        networkMode: "always",
        staleTime: 5_000,
        retry: (count, error) => count < 1 && error instanceof ApiError && error.status === 503,
        refetchOnWindowFocus: true,
      },
      mutations: { networkMode: "always" },
    },
  });
}

export interface OperationOptions {
  /** False: the operation is not run yet, because something it needs is not chosen. */
  isEnabled?: boolean;
  /** Milliseconds until it is run again while the page is visible. */
  refreshEvery?: number;
  /** Show the answer to the earlier arguments until that to the new ones comes. */
  keepsPrevious?: boolean;
  /** Milliseconds for which an answer is used without asking again; 5 s unless given. */
  staleAfter?: number;
}

/** Run an operation that reads, and follow its answer. Show it with `QueryView`. */
export function useOperation<N extends OperationName>(
  name: N,
  args: Arguments<N>,
  options: OperationOptions = {},
): UseQueryResult<Result<N>, Error> {
  return useQuery<Result<N>, Error>({
    queryKey: [name, args],
    queryFn: ({ signal }) => run(name, args, { signal }),
    enabled: options.isEnabled ?? true,
    refetchInterval: options.refreshEvery ?? false,
    ...(options.staleAfter === undefined ? {} : { staleTime: options.staleAfter }),
    ...(options.keepsPrevious ? { placeholderData: keepPreviousData as never } : {}),
  });
}

export interface ChangeOptions<N extends OperationName> {
  /** Operations whose answers are out of date after the change, by name or by the area before the dot: `"rows."`. */
  invalidates?: readonly (OperationName | `${string}.`)[];
  /** Called with the result; runs after the invalidation. */
  onDone?: (result: Result<N>, args: Arguments<N>) => void;
  /** A text for a short message when it is done. */
  doneText?: string | ((result: Result<N>, args: Arguments<N>) => string);
  /** The view shows the error itself; else it is a message at the edge of the window. */
  showsError?: boolean;
}

/** Return what runs an operation that changes something: `change.mutate(args)`, `change.isPending`, `change.error`. */
export function useChange<N extends OperationName>(
  name: N,
  options: ChangeOptions<N> = {},
): UseMutationResult<Result<N>, Error, Arguments<N>> {
  const client = useQueryClient();
  return useMutation<Result<N>, Error, Arguments<N>>({
    mutationFn: (args) => run(name, args),
    onSuccess: async (result, args) => {
      await invalidate(client, options.invalidates ?? []);
      const text = typeof options.doneText === "function" ? options.doneText(result, args) : options.doneText;
      if (text) toast.done(text);
      options.onDone?.(result, args);
    },
    onError: (error) => {
      if (!options.showsError && !isStopped(error)) toast.error(error);
    },
  });
}

/** Mark answers as out of date, by names of operations or areas (`"rows."`). */
export function invalidate(client: QueryClient, names: readonly string[]): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey: [name] }) =>
      typeof name === "string" &&
      names.some((prefix) => name === prefix || (prefix.endsWith(".") && name.startsWith(prefix))),
  });
}

/** Return a value of `api/signals.ts`, now and after each change. */
export function useValue<T>(value: Value<T>): T {
  return useSyncExternalStore(value.subscribe, value.get);
}

/** Return whether a media query holds, now and after each change. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}

export const MeContext = createContext<Me | null>(null);

/** Return the signed-in administrator. */
export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === null) throw new Error("useMe outside of the signed-in shell");
  return me;
}

/** Return whether the administrator may run an operation, so that a view can leave out what would be refused. */
export function useMay(name: OperationName, toChange = true): boolean {
  return may(useMe(), name, toChange);
}

/** Return whether an error came from a platform that does not answer. */
export function isOffline(error: unknown): boolean {
  return error instanceof OfflineError;
}
