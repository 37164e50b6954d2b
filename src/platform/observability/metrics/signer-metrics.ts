import { Histogram } from 'prom-client';
import { registry } from './metrics.ts';

const requests = new Histogram({
  name: 'coinop_chain_signer_seconds',
  help: 'Duration of requests to the signers of the roles by role and outcome (signed, failed).',
  labelNames: ['role', 'outcome'] as const,
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  registers: [registry],
});

/** Creates the time series of a signer with the value 0, because Prometheus computes no increase for a time series that begins at 1. */
export function createSignerSeries(role: string): void {
  for (const outcome of ['signed', 'failed']) requests.zero({ role, outcome });
}

/** Records a request to a signer. @param ms the duration of the request, ms */
export const observeSigner = (role: string, outcome: 'signed' | 'failed', ms: number): void => requests.observe({ role, outcome }, ms / 1_000);
