import { unavailable } from '../errors.ts';

/**
 * Coalesces requests: per key at most one run is in flight. Requests that arrive during a run wait for the next run and share its result, so a result
 * is never older than its request.
 * @param run function that computes one result for all requests of a run
 * @param maxPerRun maximum requests per run; further requests fail with 503
 */
export function coalesce<Request, Result>(
  run: (requests: readonly [Request, ...Request[]]) => Promise<Result>,
  maxPerRun = Number.POSITIVE_INFINITY,
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
    // With no run in flight, the run starts one turn of the event loop later, so that it includes requests that have already arrived.
    const before = running.get(key) ?? new Promise((resolve) => setImmediate(resolve));
    const result = before.then(() => begin(key, requests));
    waiting.set(key, { requests, result });
    return result;
  };
}
