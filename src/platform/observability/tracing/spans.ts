import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { HttpError } from '#lib/errors.ts';
import type { Logger } from '../log.ts';
import type { SpanRecorder } from './recorder.ts';

/** Maximum spans in the export queue. Further spans are dropped. */
const MAX_QUEUED_SPANS = 16_384;
/** Interval between exports, ms. */
const EXPORT_INTERVAL_MS = 1_000;
/** Maximum trace contexts of requests that are stored until the jobs of the requests are added. */
const MAX_REQUEST_CONTEXTS = 10_000;
/** Timeout of an export to the collector including all retries, ms. */
const EXPORT_TIMEOUT_MS = 3_000;
/** Timeout of the last export at shutdown, ms. */
const SHUTDOWN_TIMEOUT_MS = 2_000;
/** Minimum interval between two warnings about failed exports, ms. */
const WARNING_INTERVAL_MS = 60_000;

/** Starts to record spans and to export them to a collector. */
export function openTracing({ url, ratio, service }: { url: string; ratio: number; service: string }, log: Logger): SpanRecorder {
  logExportErrors(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    sampler: samplerOf(ratio),
    spanLimits: { linkCountLimit: 500 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS }),
        maxQueueSize: MAX_QUEUED_SPANS,
        scheduledDelayMillis: EXPORT_INTERVAL_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('coinop');
  const storage = new AsyncLocalStorage<Context>();
  const active = () => storage.getStore() ?? ROOT_CONTEXT;
  const requestContexts = new Map<string, SpanContext>();

  async function runInSpan<T>(name: string, options: SpanOptions, parent: Context, work: (span: Span) => Promise<T>): Promise<T> {
    const span = tracer.startSpan(name, options, parent);
    try {
      return await storage.run(trace.setSpan(parent, span), () => work(span));
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', errorType(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** Runs work in a child span when the current trace is sampled, otherwise without a span. */
  function childSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const parent = active();
    return trace.getSpan(parent)?.isRecording() ? runInSpan(name, options, parent, work) : work();
  }

  /**
   * Returns the context of the current span. Returns null when that span has ended, because work that a request started can outlive the span of the
   * request.
   */
  function current(): SpanContext | null {
    const span = trace.getSpan(active());
    const context = span?.spanContext() ?? null;
    return context !== null && isSampled(context) && !span?.isRecording() ? null : context;
  }

  /**
   * Runs work in a span. When one other span caused the work, the new span is its child. When several spans caused the work, the new span starts a
   * new trace with links to them.
   */
  function spanForCallers<T>(carried: readonly string[], name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const contexts = carried.flatMap((text) => parse(text) ?? []);
    const [only] = contexts;
    if (contexts.length <= 1) return runInSpan(name, options, only ? trace.setSpanContext(ROOT_CONTEXT, only) : ROOT_CONTEXT, work);
    return runInSpan(name, { ...options, links: contexts.map((context) => ({ context })) }, ROOT_CONTEXT, work);
  }

  return {
    request: (ctx, work) =>
      runInSpan(
        ctx.method,
        { kind: SpanKind.SERVER, attributes: { 'http.request.method': ctx.method } },
        remote(ctx.get('traceparent')),
        async (span) => {
          await work();
          const route: string = ctx.state.route?.path ?? 'none';
          span.updateName(`${ctx.method} ${route}`);
          span.setAttributes({ 'http.route': route, 'http.response.status_code': ctx.status, 'coinop.request_id': ctx.state.requestId });
          if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        },
      ),
    job(job, carried, work) {
      const attributes = {
        'messaging.system': 'bullmq',
        'messaging.operation.type': 'process',
        'messaging.destination.name': job.queue,
        'messaging.message.id': job.id,
        'coinop.attempt': job.attempt,
      };
      return spanForCallers(carried?.split(',') ?? [], `process ${job.name}`, { kind: SpanKind.CONSUMER, attributes }, work);
    },
    batch: (name, carried, work) => spanForCallers([...new Set(carried.flatMap((text) => text?.split(',') ?? []))], name, {}, work),
    statement: (name, run) =>
      childSpan(name, { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', 'db.query.summary': name } }, run),
    transaction: (run) => childSpan('transaction', {}, run),
    rpc: (method, host, send) =>
      childSpan(
        `rpc ${method}`,
        { kind: SpanKind.CLIENT, attributes: { 'rpc.system.name': 'jsonrpc', 'rpc.method': method, 'server.address': host } },
        send,
      ),
    registerRequest(id) {
      const context = current();
      if (context === null) return;
      // A full map holds mostly contexts of requests whose jobs were never added, so all contexts are dropped.
      if (requestContexts.size >= MAX_REQUEST_CONTEXTS) requestContexts.clear();
      requestContexts.set(id, context);
    },
    exportContext(ids) {
      const context = current();
      const all = ids === undefined ? (context ? [context] : []) : ids.flatMap((id) => requestContexts.get(id) ?? []);
      for (const id of ids ?? []) requestContexts.delete(id);
      const sampled = all.filter(isSampled);
      // When no context is sampled, the job gets an unsampled context, so that the spans of the job are not recorded either.
      const exported = sampled.length > 0 ? sampled : all.slice(0, 1);
      return exported.length === 0 ? undefined : exported.map(format).join();
    },
    async close() {
      const timeout = new AbortController();
      await Promise.race([provider.shutdown(), sleep(SHUTDOWN_TIMEOUT_MS, undefined, { signal: timeout.signal })]).catch(() => undefined);
      timeout.abort();
    },
  };
}

/**
 * Returns the sampler, which decides whether a trace is recorded. An incoming request is recorded with the probability `share`, unless its
 * `traceparent` header turns sampling off. Child spans of a recorded request, and spans with links to several callers, are always recorded.
 */
function samplerOf(share: number): Sampler {
  const ratio = new TraceIdRatioBasedSampler(share);
  const always = new AlwaysOnSampler();
  const incoming = new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio });
  const internal = new ParentBasedSampler({ root: ratio });
  return {
    shouldSample(context, traceId, name, kind, attributes, links) {
      const sampler = kind === SpanKind.SERVER ? incoming : links.length > 0 ? always : internal;
      return sampler.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => `Coinop{${share}}`,
  };
}

/** Matches a `traceparent` value of W3C Trace Context: version, trace id, span id, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

function parse(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

const isSampled = ({ traceFlags }: SpanContext) => (traceFlags & TraceFlags.SAMPLED) !== 0;

const format = ({ traceId, spanId, traceFlags }: SpanContext) => `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;

function remote(text: string): Context {
  const context = parse(text);
  return context ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

/**
 * Returns the HTTP status, the error code or the class name of an error. It does not return the message, because the message may contain user input.
 */
function errorType(error: unknown): string {
  if (error instanceof HttpError) return String(error.status);
  if (!Error.isError(error)) return 'unknown';
  return 'code' in error && /^[\w-]{1,40}$/.test(String(error.code)) ? String(error.code) : error.name;
}

/** Logs failed exports of spans as warnings, at most one per minute. The service itself continues. */
function logExportErrors(log: Logger): void {
  let lastWarning = Number.NEGATIVE_INFINITY;
  const warn = (message: string) => {
    if (performance.now() - lastWarning < WARNING_INTERVAL_MS) return;
    lastWarning = performance.now();
    log.warn({ reason: message.slice(0, 500) }, 'spans cannot be exported; they are dropped');
  };
  const ignore = () => undefined;
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
