import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { retryUntilPass } from '../areas/player.ts';

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };

/** A received span. `kind` is OTLP's number: 1 internal, 2 server, 3 client, 5 consumer. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Value }[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
  /** `service.name` of the process that sent the span. */
  service: string;
}

interface Body {
  resourceSpans?: { resource: { attributes: { key: string; value: Value }[] }; scopeSpans: { spans: Omit<CollectedSpan, 'service'>[] }[] }[];
}

/** A trace collector for OTLP over HTTP with JSON. */
export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** The text of all requests, for assertions that it contains no secrets. */
  readonly bytes: string[];
  /** Waits until a trace has spans with all names. @returns the spans of the trace */
  trace(traceId: string, ...names: string[]): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bytes: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const isTraces = request.method === 'POST' && request.url === '/v1/traces' && request.headers['content-type'] === 'application/json';
    if (isTraces) {
      bytes.push(text);
      const body: Body = JSON.parse(text);
      for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
      }
    }
    response.writeHead(isTraces ? 200 : 400, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bytes,
    async trace(traceId, ...names) {
      const found = () => spans.filter((span) => span.traceId === traceId);
      await retryUntilPass(() => {
        const missing = names.filter((name) => !found().some((span) => span.name === name));
        if (missing.length > 0) throw new Error(`the trace has no span ${missing.join()}; its spans are ${found().map(({ name }) => name)}`);
      }, 30_000);
      return found();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns an attribute of a span as text. */
export const attributeOf = ({ attributes }: CollectedSpan, name: string): string | undefined => {
  const value = attributes.find(({ key }) => key === name)?.value;
  const text = value?.stringValue ?? value?.intValue;
  return text === undefined ? undefined : String(text);
};
