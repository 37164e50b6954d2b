import { type App, perApp } from '#platform/app.ts';

/** Run id of the Redis server to which this process is connected; null until it is first read. */
const cached = perApp(() => ({ runId: null as Promise<string> | null }));

/**
 * Returns the run id of the Redis server, cached until the connection closes. Redis gets a new run id with every restart and failover. A board that
 * was completed under an earlier run id is not complete any more, because Redis may have loaded an older dump.
 */
export function redisRunId(app: App): Promise<string> {
  const state = app.state(cached);
  if (state.runId) return state.runId;
  const forget = () => {
    if (state.runId === runId) state.runId = null;
  };
  const runId = app.redis.info('server').then((text) => /run_id:(\w+)/.exec(text)?.[1] ?? 'unknown');
  state.runId = runId;
  app.redis.once('close', forget);
  runId.catch(forget);
  return runId;
}
