import { z } from 'zod';

/** Environment variables of tracing. The exporter itself reads further `OTEL_EXPORTER_OTLP_*` variables, such as headers. */
export const TracingEnvironment = {
  /** Base URL of the collector. Spans are sent by OTLP over HTTP to the path `/v1/traces` below this URL. Without the URL, tracing is off. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** Share of traces that are sampled, 0 to 1 (1 = all traces). */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
};

/** Returns the collector's URL, null when tracing is off, and the sampling ratio. */
export function tracingConfig(environment: z.output<z.ZodObject<typeof TracingEnvironment>>) {
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  return { url: endpoint === undefined ? null : `${endpoint.replace(/\/$/, '')}/v1/traces`, ratio: environment.OTEL_TRACES_SAMPLER_ARG };
}
