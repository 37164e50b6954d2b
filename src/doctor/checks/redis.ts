import { once } from 'node:events';
import { type Check, type Finding, ok, warning, wrong } from '#doctor/check.ts';

const MIN_VERSION = [6, 2] as const;

/** Checks Redis: its version, whether it accepts writes, that it never evicts jobs, and that it stores them on disk. */
export const redis: Check = {
  name: 'redis',
  settings: ['REDIS_URL'],
  remedy: 'Start Redis, or correct REDIS_URL.',
  async run({ redis }) {
    // `once` rejects with the error of the connection when the connection fails.
    if (redis.status !== 'ready') await once(redis, 'ready');
    const text = await redis.info();
    const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';
    const version = field('redis_version');
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const findings: Finding[] = [];
    if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
      findings.push(wrong(`Redis has the version ${version}`, `Use Redis ${MIN_VERSION.join('.')} or newer.`));
    }
    const policy = field('maxmemory_policy');
    if (policy !== 'noeviction')
      findings.push(wrong(`maxmemory-policy is ${policy}, so Redis deletes jobs when its memory is full`, 'Set maxmemory-policy to noeviction.'));
    if (field('role') === 'slave') findings.push(wrong('REDIS_URL leads to a replica, which refuses writes', 'Set REDIS_URL to the primary.'));
    if (field('aof_last_write_status') === 'err' || field('rdb_last_bgsave_status') === 'err') {
      findings.push(wrong('Redis cannot write to its disk, so it may refuse writes', 'Free disk space, and check the log of Redis.'));
    }
    if (field('aof_enabled') !== '1' && !(await hasSnapshots(redis))) {
      const remedy = 'Set appendonly to yes, so that jobs and boards need not be rebuilt from PostgreSQL after a restart of Redis.';
      findings.push(warning('Redis stores nothing on disk', remedy));
    }
    return findings.length > 0 ? findings : [ok(`Redis ${version} never evicts jobs and stores them on disk`)];
  },
};

/** Returns whether Redis writes snapshots. When the server refuses the command, as hosted ones do, the provider is responsible. */
async function hasSnapshots(redis: { config(subcommand: 'GET', name: string): Promise<unknown> }): Promise<boolean> {
  const found = await redis.config('GET', 'save').catch(() => null);
  return !Array.isArray(found) || found[1] !== '';
}
