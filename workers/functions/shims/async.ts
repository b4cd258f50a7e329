// std/async/mod.ts: the part that functions use.
export function delay(ms: number, options: { signal?: AbortSignal; persistent?: boolean } = {}): Promise<void> {
  const { signal, persistent = true } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
    if (!persistent) Deno.unrefTimer(timer as unknown as number);
  });
}

export function deadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new DOMException("Signal timed out.", "TimeoutError")), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return Promise.race([
    promise,
    new Promise<never>((_, fail) => signal.addEventListener("abort", () => fail(signal.reason), { once: true })),
  ]);
}

export function deferred<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let state: "pending" | "fulfilled" | "rejected" = "pending";
  promise.then(() => (state = "fulfilled"), () => (state = "rejected"));
  return Object.assign(promise, {
    resolve,
    reject,
    get state() {
      return state;
    },
  });
}

export function debounce<T extends unknown[]>(call: (...args: T) => void, wait: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flush: (() => void) | undefined;
  const debounced = (...args: T) => {
    debounced.clear();
    flush = () => {
      debounced.clear();
      call(...args);
    };
    timer = setTimeout(flush, wait);
  };
  debounced.clear = () => {
    clearTimeout(timer);
    timer = flush = undefined;
  };
  debounced.flush = () => flush?.();
  Object.defineProperty(debounced, "pending", { get: () => timer !== undefined });
  return debounced;
}

export async function retry<T>(
  call: () => T | Promise<T>,
  options: { maxAttempts?: number; minTimeout?: number; maxTimeout?: number; multiplier?: number; jitter?: number } = {},
): Promise<T> {
  const { maxAttempts = 5, minTimeout = 1000, maxTimeout = 60_000, multiplier = 2, jitter = 1 } = options;
  for (let attempt = 0;; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt + 1 >= maxAttempts) throw error;
      const wait = Math.min(maxTimeout, minTimeout * multiplier ** attempt);
      await delay(wait * (1 - jitter * Math.random()));
    }
  }
}

export async function* pooledMap<T, R>(limit: number, items: Iterable<T> | AsyncIterable<T>, call: (item: T) => Promise<R>) {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    if (running.length >= limit) yield await running.shift()!;
    const one = call(item);
    one.catch(() => {}); // no "unhandled rejection": the error is thrown when its turn comes
    running.push(one);
  }
  while (running.length) yield await running.shift()!;
}
