import { type App, perApp } from '#platform/app.ts';

/** The requests that a process collects in batches. */
type Kind = 'plays' | 'scores';

/** Time for which a batch counts as recent, ms. The batches of a loaded process follow each other within this time. */
const RECENT_MS = 100;

const begunAt = perApp(() => new Map<Kind, number>());

/** Stores the time at which this process begins a batch. */
export function beginBatch(app: App, kind: Kind): void {
  app.state(begunAt).set(kind, performance.now());
}

/**
 * Returns whether this process began a batch of a kind recently. While wallets start plays and submit scores at the same time, a batch of plays and a batch of
 * scores in flight keep both cores of a small machine busy. A further small batch would only add its fixed cost, so further batches must be large.
 */
export function hasRecentBatch(app: App, kind: Kind): boolean {
  return performance.now() - (app.state(begunAt).get(kind) ?? Number.NEGATIVE_INFINITY) < RECENT_MS;
}
