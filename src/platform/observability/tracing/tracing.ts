import type Koa from 'koa';
import type { Config } from '#config';
import type { Logger } from '../log.ts';

/** A try of a job, as its span tells of it. */
export interface TracedJob {
  readonly name: string;
  readonly queue: string;
  readonly id: string;
  readonly attempt: number;
}

/**
 * What makes spans while tracing is on. Of people they hold nothing: names, templates, ids and kinds of errors, never
 * parameters, paths, wallets or messages. Statements, transactions and calls are spans only of what is traced anyway.
 */
export interface Tracing {
  request(ctx: Koa.Context, work: () => Promise<void>): Promise<void>;
  job<T>(job: TracedJob, carried: string | undefined, work: () => Promise<T>): Promise<T>;
  statement<T>(name: string, run: () => Promise<T>): Promise<T>;
  transaction<T>(run: () => Promise<T>): Promise<T>;
  call<T>(method: string, host: string, ask: () => Promise<T>): Promise<T>;
  batch<T>(name: string, carried: readonly (string | undefined)[], work: () => Promise<T>): Promise<T>;
  asks(id: string): void;
  carry(askers: readonly string[] | undefined): string | undefined;
  close(): Promise<void>;
}

let tracing: Tracing | null = null;

/**
 * Turns tracing on where it is configured; otherwise nothing of OpenTelemetry is loaded.
 * @param name of the kind of process
 */
export async function startTracing(
  { tracing: { url, ratio } }: Pick<Config, 'tracing'>,
  name: string,
  log: Logger,
): Promise<{ close(): Promise<void> }> {
  if (url === null) return { close: async () => undefined };
  const { openTracing } = await import('./spans.ts');
  const opened = openTracing({ url, ratio, service: `coinop-${name}` }, log);
  tracing = opened;
  return {
    async close() {
      tracing = null;
      await opened.close();
    },
  };
}

/** Middleware: a request as a span, below that of its `traceparent` header. */
export const traceRequest = (ctx: Koa.Context, next: () => Promise<void>): Promise<void> => (tracing === null ? next() : tracing.request(ctx, next));

/** @param carried what `carryTrace` gave to whoever added the job */
export const traceJob = <T>(job: TracedJob, carried: string | undefined, work: () => Promise<T>): Promise<T> =>
  tracing === null ? work() : tracing.job(job, carried, work);

export const traceStatement = <T>(name: string | undefined, run: () => Promise<T>): Promise<T> =>
  tracing === null ? run() : tracing.statement(name ?? 'unnamed', run);

export const traceTransaction = <T>(run: () => Promise<T>): Promise<T> => (tracing === null ? run() : tracing.transaction(run));

/** A question to a node. */
export const traceCall = <T>(method: string, host: string, ask: () => Promise<T>): Promise<T> =>
  tracing === null ? ask() : tracing.call(method, host, ask);

/** Work that is done for several at once. @param carried what `carryTrace` gave to each */
export const traceBatch = <T>(name: string, carried: readonly (string | undefined)[], work: () => Promise<T>): Promise<T> =>
  tracing === null ? work() : tracing.batch(name, carried, work);

/** Somebody asks under an id, and a job that carries several of them will answer. */
export const traceAsker = (id: string): void => tracing?.asks(id);

/** The trace that goes with a job: that of whoever adds it, or those of the askers whom it is for. */
export const carryTrace = (askers?: () => readonly string[] | undefined): string | undefined => tracing?.carry(askers?.());
