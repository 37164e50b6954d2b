/**
 * Joins requests: those of a key that arrive within a time share one run and its result. Unlike with `coalesce`, a run does not wait for the runs before it,
 * so a slow run delays no later request.
 * @param run function that computes one result for all requests of a run
 * @param ms time from the first request until the run, ms; 0 = the current turn of the event loop
 */
export function gather<Request, Result>(
  run: (requests: readonly [Request, ...Request[]]) => Promise<Result>,
  ms = 0,
): (key: string, request: Request) => Promise<Result> {
  const waiting = new Map<string, { readonly requests: [Request, ...Request[]]; readonly result: Promise<Result> }>();
  return (key, request) => {
    const pending = waiting.get(key);
    if (pending) {
      pending.requests.push(request);
      return pending.result;
    }
    const requests: [Request, ...Request[]] = [request];
    const result = new Promise<void>((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms))).then(() => {
      waiting.delete(key);
      return run(requests);
    });
    waiting.set(key, { requests, result });
    return result;
  };
}
