import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../areas/player.ts';

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };

/** A span as it was sent; kind is OTLP's number: 1 internal, 2 server, 3 client, 5 consumer. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Value }[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
  /** `service.name` of its process. */
  service: string;
}

interface Body {
  resourceSpans?: { resource: { attributes: { key: string; value: Value }[] }; scopeSpans: { spans: Omit<CollectedSpan, 'service'>[] }[] }[];
}

/** A collector of spans, by OTLP over HTTP as JSON. */
export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Everything as it came, for what must not be in it. */
  readonly bytes: string[];
  /** Waits until a trace has spans of all these names. @returns the trace's spans */
  trace(traceId: string, ...names: string[]): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

/** Starts one. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bytes: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const isOurs = request.method === 'POST' && request.url === '/v1/traces' && request.headers['content-type'] === 'application/json';
    if (isOurs) {
      bytes.push(text);
      const body: Body = JSON.parse(text);
      for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
      }
    }
    response.writeHead(isOurs ? 200 : 400, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bytes,
    async trace(traceId, ...names) {
      const found = () => spans.filter((span) => span.traceId === traceId);
      await eventually(() => {
        const missing = names.filter((name) => !found().some((span) => span.name === name));
        if (missing.length > 0) throw new Error(`${missing.join()} is not among ${found().map(({ name }) => name)}`);
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

/** An attribute of a span. */
export const attributeOf = ({ attributes }: CollectedSpan, name: string): string | undefined => {
  const value = attributes.find(({ key }) => key === name)?.value;
  const text = value?.stringValue ?? value?.intValue;
  return text === undefined ? undefined : String(text);
};
