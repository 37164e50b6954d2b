import type Koa from 'koa';
import type { Config } from '#config';
import type { Logger } from '../log.ts';
import type { SpanRecorder, TracedJob } from './recorder.ts';

let tracing: SpanRecorder | null = null;

/**
 * Turns tracing on when the URL of a collector is configured. Otherwise does not load OpenTelemetry.
 * @param name the type of the process: `api` or `worker`
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

/** Koa middleware: runs the request in a span. The parent is the span of the request's `traceparent` header. */
export const traceRequest = (ctx: Koa.Context, next: () => Promise<void>): Promise<void> => (tracing === null ? next() : tracing.request(ctx, next));

/**
 * Runs a job in a span.
 * @param carried the trace contexts that `exportTrace` returned in the process that added the job
 */
export const traceJob = <T>(job: TracedJob, carried: string | undefined, work: () => Promise<T>): Promise<T> =>
  tracing === null ? work() : tracing.job(job, carried, work);

export const traceStatement = <T>(name: string | undefined, run: () => Promise<T>): Promise<T> =>
  tracing === null ? run() : tracing.statement(name ?? 'unnamed', run);

export const traceTransaction = <T>(run: () => Promise<T>): Promise<T> => (tracing === null ? run() : tracing.transaction(run));

/** Sends an RPC request in a span. */
export const traceRpc = <T>(method: string, host: string, send: () => Promise<T>): Promise<T> =>
  tracing === null ? send() : tracing.rpc(method, host, send);

/**
 * Runs work for several callers in one span.
 * @param carried the trace contexts that `exportTrace` returned for each caller
 */
export const traceBatch = <T>(name: string, carried: readonly (string | undefined)[], work: () => Promise<T>): Promise<T> =>
  tracing === null ? work() : tracing.batch(name, carried, work);

/**
 * Stores the trace context of the current request under the id of the request, so that `exportTrace` can find the context when one job serves several
 * requests.
 */
export const registerRequestTrace = (id: string): void => tracing?.registerRequest(id);

/**
 * Returns the trace contexts to store with a job: the contexts of the given requests, or the current context when no ids are given.
 * @returns W3C `traceparent` values, separated by commas; undefined without a trace
 */
export const exportTrace = (requestIds?: () => readonly string[] | undefined): string | undefined => tracing?.exportContext(requestIds?.());
