import { once } from 'node:events';
import type { App } from '#platform/app.ts';
import type { RedisClient } from '#platform/redis/connection.ts';
import { type Check, type Finding, off, ok, type ProcessType, reasonOf, type State, warning, wrong } from './check.ts';
import { CHECKS } from './checks/index.ts';
import { redactor } from './redact.ts';

/** Timeout of one check, ms. It is longer than the timeouts of most requests, so that usually the request's own error is reported. */
const TIMEOUT_MS = 12_000;
const REDIS_WAIT_MS = 3_000;

/** A finding, and the name of the check that found it. */
export interface Result extends Finding {
  readonly check: string;
}

interface Options {
  /** The problems that `inspectConfig` found. Checks that need one of the wrong settings do not run. */
  readonly problems?: readonly string[];
  readonly checks?: readonly Check[];
  readonly timeoutMs?: number;
}

/**
 * Runs all checks at the same time. Never throws. A check that throws or takes too long is reported as wrong, or as a warning when its dependency is
 * optional.
 * @returns the findings in the order of the checks, first the wrong settings. No text contains a secret
 */
export async function examine(app: App, process: ProcessType, options: Options = {}): Promise<Result[]> {
  const { problems = [], checks = CHECKS, timeoutMs = TIMEOUT_MS } = options;
  const redact = redactor(app.config);
  const found = await Promise.all(
    checks.map(async (check) => {
      const cause = check.settings.find((name) => problems.some((problem) => namesSetting(problem, name)));
      const findings = cause === undefined ? await runCheck(check, app, process, timeoutMs) : [off(`not checked, because ${cause} is wrong`)];
      return findings.map((finding) => ({ check: check.name, ...finding }));
    }),
  );
  const settings = problems.length > 0 ? problems.map((what) => ({ state: 'wrong' as const, what, remedy: null })) : [ok('all settings are valid')];
  const all: Result[] = [...settings.map((finding) => ({ check: 'settings', ...finding })), ...found.flat()];
  return all.map((one) => ({ ...one, what: redact(one.what), remedy: one.remedy === null ? null : redact(one.remedy) }));
}

/** Returns whether a problem names a setting, and not only a setting whose name contains this name. */
const namesSetting = (problem: string, name: string): boolean => new RegExp(`(?<![A-Z0-9_])${name}(?![A-Z0-9_])`).test(problem);

/** Waits until the connection is ready, fails, or has been opening for REDIS_WAIT_MS, because it rejects commands while it is being opened. */
async function readySoon(redis: RedisClient): Promise<void> {
  if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(REDIS_WAIT_MS) }).catch(() => undefined);
}

async function runCheck(check: Check, app: App, process: ProcessType, timeoutMs: number): Promise<readonly Finding[]> {
  const failed = check.optional ? warning : wrong;
  const timeout = Promise.withResolvers<readonly Finding[]>();
  const timer = setTimeout(() => timeout.resolve([failed(`no answer within ${timeoutMs / 1_000} s`, check.remedy)]), timeoutMs);
  try {
    const run = async () => {
      if (check.settings.includes('REDIS_URL')) await readySoon(app.redis);
      return await check.run(app, process);
    };
    return await Promise.race([run(), timeout.promise]);
  } catch (error) {
    return [failed(reasonOf(error), check.remedy)];
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the number of findings in each state. */
export function countStates(results: readonly Result[]): Record<State, number> {
  const counts = { ok: 0, off: 0, warning: 0, wrong: 0 };
  for (const { state } of results) counts[state]++;
  return counts;
}
