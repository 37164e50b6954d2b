import { z } from 'zod';

/** What a process is told about tracing; further `OTEL_EXPORTER_OTLP_*`, such as headers, are read by the exporter itself. */
export const TracingEnvironment = {
  /** Where spans are sent by OTLP over HTTP, to `/v1/traces` below it; without one nothing is traced. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** The share of traces that are kept, 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
};

/** Where spans go, if anywhere, and how many. */
export function tracingConfig(environment: z.output<z.ZodObject<typeof TracingEnvironment>>) {
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  return { url: endpoint === undefined ? null : `${endpoint.replace(/\/$/, '')}/v1/traces`, ratio: environment.OTEL_TRACES_SAMPLER_ARG };
}
