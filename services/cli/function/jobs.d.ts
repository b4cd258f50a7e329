// Types of headwater:jobs for editors, written by `headwater functions types`. The platform has the module itself: this file is not run.

/** Milliseconds, or a text such as "30s", "5m", "2h", "30d". */
export type Duration = number | string;
/** `retries`: how often the step is tried again; `backoff`: the pause before the first retry, doubled with each. */
export interface StepOptions {
  retries?: number;
  backoff?: Duration;
}
/** `id` is the same in every attempt of the step: give it to other systems, so that they do the same thing once. */
export interface StepInfo {
  id: string;
  attempt: number;
}
// deno-lint-ignore no-explicit-any
export interface JobEvent<Data = any> {
  id: string;
  name: string;
  data: Data;
  sent_at: string;
}
export interface JobRun {
  id: string;
  job: string;
  attempt: number;
  key: string | null;
  created_at: string;
}
export interface WaitOptions {
  event: string;
  match?: Record<string, unknown>;
  timeout?: Duration;
}

// deno-lint-ignore no-explicit-any
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
  // deno-lint-ignore no-explicit-any
  waitForEvent<Data = any>(name: string, options: WaitOptions): Promise<JobEvent<Data> | null>;
  /** Send an event, once; returns its id. */
  sendEvent(name: string, event: { event: string; data?: unknown; key?: string }): Promise<string>;
  /** Start a run of a job, once; returns its id. */
  start(name: string, run: { job: string; input?: unknown; key?: string }): Promise<string>;
  /** Start a run of a job and wait for its output. Throws StepError if it fails or is cancelled; it is cancelled when this run ends. */
  // deno-lint-ignore no-explicit-any
  invoke<Output = any>(name: string, run: { job: string; input?: unknown }): Promise<Output>;
}

/** Thrown by a step or a handler: it is not tried again. */
export declare class NonRetriableError extends Error {
  override name: string;
}

/** Thrown by `step` in the handler when the step has failed as often as its retries allow. */
export declare class StepError extends Error {
  override name: string;
  readonly step: string;
  constructor(step: string, message: string);
}

/** Return the handler of requests of a function that is a job: `Deno.serve(job(async ({ step }) => ...))`. */
// deno-lint-ignore no-explicit-any
export declare function job<Input = any>(
  handler: (context: JobContext<Input>) => unknown,
): (request: Request) => Promise<Response>;
