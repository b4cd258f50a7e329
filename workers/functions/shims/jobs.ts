// headwater:jobs - durable jobs (docs/queues-and-jobs.md). The platform calls the function again and again for one run, each time with what
// is stored of its steps. A call replays the handler: finished steps return their stored result, the first ones that are not finished are
// run, and what they returned is reported, a line of JSON each. Then the call ends: a step's promise settles in a later call, when its
// result is stored. The platform's half is workers/scheduler/durable_jobs.

import { AsyncLocalStorage } from "node:async_hooks";

const CALL_KEY = "x-headwater-job";
const LONGEST_RESULT = 1024 * 1024;
const LONGEST_ERROR = 4000;
const QUICK_MS = 50; // an answer that is whole by then goes out in one piece
const LONGEST_S = 366 * 86400;
const UNITS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 7 * 86400 };

/** Milliseconds, or a text such as "30s", "5m", "2h", "30d". */
export type Duration = number | string;
/** `retries`: how often the step is tried again; `backoff`: the pause before the first retry, doubled with each. */
export interface StepOptions { retries?: number; backoff?: Duration }
/** `id` is the same in every attempt of the step: give it to other systems, so that they do the same thing once. */
export interface StepInfo { id: string; attempt: number }
export interface JobEvent<Data = any> { id: string; name: string; data: Data; sent_at: string }
export interface JobRun { id: string; job: string; attempt: number; key: string | null; created_at: string }
export interface WaitOptions { event: string; match?: Record<string, unknown>; timeout?: Duration }

export interface JobContext<Input = any> {
  run: JobRun;
  input: Input;
  /** Run `fn` once and store what it returned; a failure is tried again. */
  step<Result>(name: string, fn: (info: StepInfo) => Result | Promise<Result>): Promise<Result>;
  /** A step with its own retries. */
  retry<Result>(name: string, options: StepOptions, fn: (info: StepInfo) => Result | Promise<Result>): Promise<Result>;
  /** Wait without a process: a duration, or until a moment; a year at most. */
  sleep(name: string, duration: Duration | Date): Promise<void>;
  /** Wait for an event whose data contains `match`; null after `timeout` (7 days by default). */
  waitForEvent<Data = any>(name: string, options: WaitOptions): Promise<JobEvent<Data> | null>;
  /** Send an event, once; returns its id. */
  sendEvent(name: string, event: { event: string; data?: unknown; key?: string }): Promise<string>;
  /** Start a run of a job, once; returns its id. */
  start(name: string, run: { job: string; input?: unknown; key?: string }): Promise<string>;
  /** Start a run of a job and wait for its output. Throws StepError if it fails or is cancelled; it is cancelled when this run ends. */
  invoke<Output = any>(name: string, run: { job: string; input?: unknown }): Promise<Output>;
}

/** Thrown by a step or a handler: it is not tried again. */
export class NonRetriableError extends Error {
  override name = "NonRetriableError";
}

/** Thrown by `step` in the handler when the step has failed as often as its retries allow. */
export class StepError extends Error {
  override name = "StepError";
  constructor(readonly step: string, message: string) {
    super(message);
  }
}

interface StoredStep { kind: "step" | "sleep" | "wait" | "run"; status: "done" | "failed" | "retry" | "open"; result?: any; error?: string; failures?: number; is_due?: boolean }
interface Call { run: JobRun & { input: any }; steps: Record<string, StoredStep> }

const keys = new Set<string>(Object.values(JSON.parse(Deno.env.get("SUPABASE_SECRET_KEYS") ?? "{}")));
const insideStep = new AsyncLocalStorage<string>();
const never = new Promise<never>(() => {});

/** Return the handler of requests of a function that is a job: `Deno.serve(job(async ({ step }) => ...))`. */
export function job<Input = any>(handler: (context: JobContext<Input>) => unknown): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!keys.has(request.headers.get(CALL_KEY) ?? "")) {
      const message = "This function is a durable job: start it by headwater_jobs.start.";
      return Response.json({ code: "NOT_A_CALL_OF_A_RUN", message }, { status: 403 });
    }
    return await answer(new Attempt(await request.json() as Call), handler);
  };
}

/** Return the reports in one piece if they are whole soon, else as they come. */
async function answer(attempt: Attempt, handler: (context: any) => unknown): Promise<Response> {
  const ended = attempt.run(handler);
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([ended, new Promise((resolve) => timer = setTimeout(resolve, QUICK_MS))]);
  clearTimeout(timer);
  const headers = { "content-type": "application/x-ndjson" };
  if (attempt.hasEnded) return new Response(attempt.lines.join(""), { headers });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (line: string) => controller.enqueue(encoder.encode(line));
      write("\n"); // begins the answer: what follows may take as long as a call may
      attempt.lines.forEach(write);
      attempt.onLine = write;
      ended.then(() => attempt.onLine === write && controller.close());
    },
    cancel() {
      attempt.onLine = () => {};
    },
  });
  return new Response(body, { headers });
}

class Attempt {
  readonly lines: string[] = [];
  onLine: (line: string) => void = () => {};
  hasEnded = false;
  #active = 0;
  #finished = 0;
  #suspended = 0;
  #names = new Map<string, number>();
  #end: () => void = () => {};
  #handlerResult: (() => void) | undefined;

  constructor(readonly call: Call) {}

  async run(handler: (context: any) => unknown): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#end = resolve);
    const { input, ...run } = this.call.run;
    const context: JobContext = {
      run,
      input,
      step: (name, fn) => this.#step(name, {}, fn),
      retry: (name, options, fn) => this.#step(name, options, fn),
      sleep: (name, duration) => this.#open(name, "sleep", () => ({ op: "sleep", after_s: secondsUntil(duration) })),
      waitForEvent: (name, options) => this.#open(name, "wait", () => waiting(options)),
      sendEvent: (name, { event, data, key }) => this.#sent(name, { op: "send", event, data: data ?? {}, key }),
      invoke: (name, { job, input }) => this.#open(name, "run", () => ({ op: "run", job, data: input ?? {} })),
      start: (name, { job, input, key }) => this.#sent(name, { op: "start", job, data: input ?? {}, key }),
    };
    (async () => await handler(context))().then(
      (output) => this.#settle(() => this.#report({ op: "finish", result: output ?? null }, "the output")),
      (error) => this.#settle(() => this.#fail(error)),
    );
    await ended;
    this.hasEnded = true;
  }

  #step<Result>(name: string, options: StepOptions, fn: (info: StepInfo) => Result | Promise<Result>): Promise<Result> {
    const id = this.#claim(name);
    const stored = this.#stored(id, "step");
    if (stored?.status === "done") return Promise.resolve(stored.result as Result);
    if (stored?.status === "failed") return Promise.reject(new StepError(id, stored.error ?? "it failed"));
    if (stored && !stored.is_due) return this.#suspend();
    const backoff_s = options.backoff === undefined ? undefined : seconds(options.backoff);
    this.#work(async () => {
      const began_at = Date.now() / 1000;
      const fail = (error: unknown, is_final: boolean) => {
        console.error(`step ${id} failed:`, error);
        this.#report({ op: "retry", name: id, error: textOf(error), is_final, retries: options.retries, backoff_s });
      };
      let result: Result;
      try {
        result = await insideStep.run(id, async () => await fn({ id: `${this.call.run.id}/${id}`, attempt: (stored?.failures ?? 0) + 1 }));
      } catch (error) {
        return fail(error, error instanceof NonRetriableError);
      }
      try {
        this.#report({ op: "step", name: id, result: result ?? null, began_at }, `the result of step ${id}`);
        this.#finished++;
      } catch (error) {
        fail(error, true);
      }
    });
    return never;
  }

  #open<Result>(name: string, kind: "sleep" | "wait" | "run", report: () => object): Promise<Result> {
    const id = this.#claim(name);
    const stored = this.#stored(id, kind);
    if (stored?.status === "done") return Promise.resolve((stored.result ?? (kind === "sleep" ? undefined : null)) as Result);
    if (stored?.status === "failed") return Promise.reject(new StepError(id, stored.error ?? "it failed"));
    if (!stored) this.#report({ name: id, ...report() });
    return this.#suspend();
  }

  #sent(name: string, report: object): Promise<string> {
    const id = this.#claim(name);
    const stored = this.#stored(id, "step");
    if (stored?.status === "done") return Promise.resolve(stored.result as string);
    this.#work(async () => {
      this.#report({ name: id, ...report });
      this.#finished++;
    });
    return never;
  }

  /** Return the name of this use of a name: the second one is name#2, and so on. */
  #claim(name: string): string {
    if (typeof name !== "string" || !name) throw new NonRetriableError("a step needs a name");
    const outer = insideStep.getStore();
    if (outer !== undefined) throw new NonRetriableError(`step ${name} is inside of step ${outer}: steps are not nested`);
    const count = (this.#names.get(name) ?? 0) + 1;
    this.#names.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  }

  #stored(id: string, kind: string): StoredStep | undefined {
    const stored = Object.hasOwn(this.call.steps, id) ? this.call.steps[id] : undefined;
    if (stored && stored.kind !== kind) throw new NonRetriableError(`${id} was a ${stored.kind} in an earlier call and is a ${kind} now: name it differently`);
    return stored;
  }

  #work(work: () => Promise<void>): void {
    this.#active++;
    work().finally(() => {
      this.#active--;
      this.#look();
    });
  }

  #suspend(): Promise<never> {
    this.#suspended++;
    this.#look();
    return never;
  }

  #settle(result: () => void): void {
    this.#handlerResult = result;
    this.#look();
  }

  /** End the call if nothing runs, when all that can go on at this moment has gone on. */
  #look(): void {
    setTimeout(() => {
      if (this.hasEnded || this.#active) return;
      if (this.#handlerResult) this.#handlerResult();
      else if (this.#finished) this.#report({ op: "continue" });
      else if (this.lines.length || this.#suspended) this.#report({ op: "suspend" });
      else return;
      this.hasEnded = true;
      this.#end();
    });
  }

  #fail(error: unknown): void {
    console.error("the job failed:", error);
    const is_final = error instanceof NonRetriableError || error instanceof StepError;
    this.#report({ op: "fail", error: textOf(error), is_final });
  }

  #report(report: Record<string, unknown>, what?: string): void {
    if (this.hasEnded) return;
    let line: string;
    try {
      line = `${JSON.stringify(report)}\n`;
      if (what && JSON.stringify(report.result).length > LONGEST_RESULT) throw new NonRetriableError(`${what} is longer than 1 MiB: store it, and return its key`);
    } catch (error) {
      if (report.op !== "finish") throw error;
      return this.#fail(new NonRetriableError(textOf(error)));
    }
    this.lines.push(line);
    this.onLine(line);
  }
}

function waiting({ event, match, timeout }: WaitOptions): object {
  return { op: "wait", event, match: match ?? {}, after_s: seconds(timeout ?? "7d") };
}

function secondsUntil(duration: Duration | Date): number {
  return duration instanceof Date ? bounded((duration.getTime() - Date.now()) / 1000) : seconds(duration);
}

function seconds(duration: Duration): number {
  if (typeof duration === "number") return bounded(duration / 1000);
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*$/.exec(duration);
  if (!match) throw new NonRetriableError(`"${duration}" is no duration: milliseconds, or a text such as "30s", "5m", "2h", "30d"`);
  return bounded(Number(match[1]) * UNITS[match[2]]);
}

function bounded(value: number): number {
  if (!(value <= LONGEST_S)) throw new NonRetriableError("a run waits for a year at most");
  return Math.max(value, 0);
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.slice(0, LONGEST_ERROR);
}
