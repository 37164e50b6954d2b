import type Koa from 'koa';

/** The attributes of a job attempt in its span. */
export interface TracedJob {
  readonly name: string;
  readonly queue: string;
  readonly id: string;
  readonly attempt: number;
}

/**
 * Records spans while tracing is on. Spans hold names, route templates, ids and error types, and never parameters, paths, wallets or messages, so that
 * no personal data leaves the service. Statements, transactions and RPC requests get a span only inside a sampled trace.
 */
export interface SpanRecorder {
  request(ctx: Koa.Context, work: () => Promise<void>): Promise<void>;
  job<T>(job: TracedJob, carried: string | undefined, work: () => Promise<T>): Promise<T>;
  statement<T>(name: string, run: () => Promise<T>): Promise<T>;
  transaction<T>(run: () => Promise<T>): Promise<T>;
  rpc<T>(method: string, host: string, send: () => Promise<T>): Promise<T>;
  batch<T>(name: string, carried: readonly (string | undefined)[], work: () => Promise<T>): Promise<T>;
  registerRequest(id: string): void;
  exportContext(requestIds: readonly string[] | undefined): string | undefined;
  close(): Promise<void>;
}
