import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../errors.ts';

interface CoalesceOptions {
  /** Maximum requests per run; further requests fail with 503. */
  maxPerRun?: number;
  /** Time for which requests are collected while no run is in flight, ms; 0 = the current turn of the event loop. */
  collectMs?: number;
}

/**
 * Coalesces requests: per key at most one run is in flight. Requests that arrive during a run wait for the next run and share its result, so a result
 * is never older than its request.
 * @param run function that computes one result for all requests of a run
 */
export function coalesce<Request, Result>(
  run: (requests: readonly [Request, ...Request[]]) => Promise<Result>,
  { maxPerRun = Number.POSITIVE_INFINITY, collectMs = 0 }: CoalesceOptions = {},
): (key: string, request: Request) => Promise<Result> {
  const waiting = new Map<string, { requests: [Request, ...Request[]]; result: Promise<Result> }>();
  const running = new Map<string, Promise<unknown>>();

  const begin = (key: string, requests: readonly [Request, ...Request[]]): Promise<Result> => {
    waiting.delete(key);
    const result = run(requests);
    const end = () => {
      if (running.get(key) === ended) running.delete(key);
    };
    const ended = result.then(end, end);
    running.set(key, ended);
    return result;
  };

  return (key, request) => {
    const pending = waiting.get(key);
    if (pending) {
      if (pending.requests.length >= maxPerRun) throw unavailable('too many requests are waiting for this result, try again');
      pending.requests.push(request);
      return pending.result;
    }
    const requests: [Request, ...Request[]] = [request];
    // With no run in flight, the run starts one turn of the event loop later at the earliest, so that it includes requests that have already arrived.
    const before = running.get(key) ?? (collectMs === 0 ? nextTurn() : sleep(collectMs));
    const result = before.then(() => begin(key, requests));
    waiting.set(key, { requests, result });
    return result;
  };
}
