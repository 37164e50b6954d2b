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
import type { Tracing } from './tracing.ts';

/** Spans that wait to be sent; what comes beyond is dropped. They are sent this often, ms. */
const MOST_WAITING = 16_384;
const SEND_MS = 1_000;
/** Askers that are remembered until their job is added. */
const MOST_ASKERS = 10_000;
/** How long the collector may take to answer, with all tries, ms. */
const ANSWER_MS = 3_000;
/** How long a process that stops waits for its last spans to be taken, ms. */
const STOP_MS = 2_000;
/** That a collector cannot be reached is said this often at most, ms. */
const SAID_EVERY_MS = 60_000;

/** Opens spans, and sends them to a collector. */
export function openTracing({ url, ratio, service }: { url: string; ratio: number; service: string }, log: Logger): Tracing {
  complainTo(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    sampler: samplerOf(ratio),
    spanLimits: { linkCountLimit: 500 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url, timeoutMillis: ANSWER_MS }),
        maxQueueSize: MOST_WAITING,
        scheduledDelayMillis: SEND_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('coinop');
  const storage = new AsyncLocalStorage<Context>();
  const active = () => storage.getStore() ?? ROOT_CONTEXT;
  const askers = new Map<string, SpanContext>();

  async function within<T>(name: string, options: SpanOptions, parent: Context, work: (span: Span) => Promise<T>): Promise<T> {
    const span = tracer.startSpan(name, options, parent);
    try {
      return await storage.run(trace.setSpan(parent, span), () => work(span));
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', kindOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** A span of what is traced; otherwise the work alone. */
  function below<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const parent = active();
    return trace.getSpan(parent)?.isRecording() ? within(name, options, parent, work) : work();
  }

  /** What goes on now; null after its end: what a request has set going may outlive it. */
  function current(): SpanContext | null {
    const span = trace.getSpan(active());
    const context = span?.spanContext() ?? null;
    return context !== null && isSampled(context) && !span?.isRecording() ? null : context;
  }

  /** Work that others asked for: in the trace of the one, or linked from those of several. */
  function of<T>(carried: readonly string[], name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const contexts = carried.flatMap((text) => parse(text) ?? []);
    const [only] = contexts;
    if (contexts.length <= 1) return within(name, options, only ? trace.setSpanContext(ROOT_CONTEXT, only) : ROOT_CONTEXT, work);
    return within(name, { ...options, links: contexts.map((context) => ({ context })) }, ROOT_CONTEXT, work);
  }

  return {
    request: (ctx, work) =>
      within(
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
      return of(carried?.split(',') ?? [], `process ${job.name}`, { kind: SpanKind.CONSUMER, attributes }, work);
    },
    batch: (name, carried, work) => of([...new Set(carried.flatMap((text) => text?.split(',') ?? []))], name, {}, work),
    statement: (name, run) => below(name, { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', 'db.query.summary': name } }, run),
    transaction: (run) => below('transaction', {}, run),
    call: (method, host, ask) =>
      below(
        `rpc ${method}`,
        { kind: SpanKind.CLIENT, attributes: { 'rpc.system.name': 'jsonrpc', 'rpc.method': method, 'server.address': host } },
        ask,
      ),
    asks(id) {
      const context = current();
      if (context === null) return;
      // Those whose job was never added.
      if (askers.size >= MOST_ASKERS) askers.clear();
      askers.set(id, context);
    },
    carry(ids) {
      const own = current();
      const all = ids === undefined ? (own ? [own] : []) : ids.flatMap((id) => askers.get(id) ?? []);
      for (const id of ids ?? []) askers.delete(id);
      const kept = all.filter(isSampled);
      // Where nobody's trace is kept, the job's is not either.
      const told = kept.length > 0 ? kept : all.slice(0, 1);
      return told.length === 0 ? undefined : told.map(format).join();
    },
    async close() {
      const timeout = new AbortController();
      await Promise.race([provider.shutdown(), sleep(STOP_MS, undefined, { signal: timeout.signal })]).catch(() => undefined);
      timeout.abort();
    },
  };
}

/** Callers may name their trace, or ask for none; how many are kept is ours to say. What follows from a kept request is kept. */
function samplerOf(share: number): Sampler {
  const ratio = new TraceIdRatioBasedSampler(share);
  const always = new AlwaysOnSampler();
  const atTheDoor = new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio });
  const inside = new ParentBasedSampler({ root: ratio });
  return {
    shouldSample(context, traceId, name, kind, attributes, links) {
      const sampler = kind === SpanKind.SERVER ? atTheDoor : links.length > 0 ? always : inside;
      return sampler.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => `Coinop{${share}}`,
  };
}

/** W3C Trace Context: version, trace, span, flags. */
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

/** SQLSTATE, status, or class: messages may hold what people sent. */
function kindOf(error: unknown): string {
  if (error instanceof HttpError) return String(error.status);
  if (!Error.isError(error)) return 'unknown';
  return 'code' in error && /^[\w-]{1,40}$/.test(String(error.code)) ? String(error.code) : error.name;
}

/** Spans are an extra: that they cannot be sent is said now and then. */
function complainTo(log: Logger): void {
  let said = Number.NEGATIVE_INFINITY;
  const say = (message: string) => {
    if (performance.now() - said < SAID_EVERY_MS) return;
    said = performance.now();
    log.warn({ reason: message.slice(0, 500) }, 'spans cannot be sent');
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: say, warn: say, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
