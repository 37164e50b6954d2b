import { expect, test } from '@jest/globals';
import { inspectConfig } from '#config';
import { redactor } from '#doctor/redact.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { parseRedisUrl } from '#platform/redis/config.ts';
import { connect, FAIL_FAST } from '#platform/redis/connection.ts';

test.each([
  ['redis://localhost:6379', { kind: 'server', url: 'redis://localhost:6379' }],
  ['unix:///run/redis.sock?db=0', { kind: 'server', url: 'unix:///run/redis.sock?db=0' }],
  ['redis+cluster://a,b:7001', { kind: 'cluster', nodes: [node('a', 6_379), node('b', 7_001)], tls: false }],
  ['rediss+cluster://:p%40ss%2Cword@[::1]:7000', { kind: 'cluster', nodes: [node('::1', 7_000)], tls: true, password: 'p@ss,word' }],
  ['redis+sentinel://a,b:1/mymaster', { kind: 'sentinel', nodes: [node('a', 26_379), node('b', 1)], name: 'mymaster', db: 0, tls: false }],
  [
    'rediss+sentinel://me:secret@a:1/main.1/3?sentinelUsername=watch&sentinelPassword=other%20secret',
    {
      ...{ kind: 'sentinel', nodes: [node('a', 1)], name: 'main.1', db: 3, tls: true, username: 'me', password: 'secret' },
      ...{ sentinelUsername: 'watch', sentinelPassword: 'other secret' },
    },
  ],
])('REDIS_URL %s is accepted', (url, target) => {
  expect(parseRedisUrl(url)).toEqual(target);
});

function node(host: string, port: number) {
  return { host, port };
}

test.each([
  ['http://localhost', 'must be a URL that begins with'],
  ['redis+cluster://', 'must list the nodes as host:port'],
  ['redis+cluster://a,,b', 'must list the nodes as host:port'],
  ['redis+cluster://a:0', 'must list the nodes as host:port'],
  ['redis+cluster://a:65536', 'must list the nodes as host:port'],
  ['redis+cluster://redis://a:1', 'must list the nodes as host:port'],
  ['redis+cluster://a/1', 'must end after the nodes'],
  ['redis+cluster://a?db=1', 'must end after the nodes'],
  ['redis+cluster://planted-secret@a', 'must have a colon before the password'],
  ['redis+cluster://:planted-secret%@a', 'must have percent-encoded credentials'],
  ['redis+sentinel://a:1', 'must name the primary'],
  ['redis+sentinel://a:1/two words', 'must be a URL that begins with'],
  ['redis+sentinel://a:1/name/first', 'must name the primary'],
  ['redis+sentinel://a:1/name?password=planted-secret', 'must have no other parameters'],
])('REDIS_URL %s is refused with a sentence that says what it must be', (url, sentence) => {
  const { problems } = inspectConfig({ REDIS_URL: url });
  expect(problems).toEqual([expect.stringContaining(`REDIS_URL ${sentence}`)]);
  expect(problems.join()).not.toContain('planted-secret');
});

test('texts about a cluster or Sentinels do not contain their passwords', () => {
  const { config } = inspectConfig({ REDIS_URL: 'redis+sentinel://:first-secret@a/name?sentinelPassword=second-secret' });
  expect(redactor(config)('first-secret and second-secret')).toBe('[secret] and [secret]');
});

test.each(['redis+cluster://127.0.0.1:1,127.0.0.1:2', 'redis+sentinel://127.0.0.1:1,127.0.0.1:2/name'])(
  'without any node of %s a command fails at once as unavailable',
  async (url) => {
    const redis = connect(parseRedisUrl(url), { ...FAIL_FAST, retryStrategy: () => 50, commandTimeout: 1_000 });
    redis.on('error', () => undefined);
    try {
      const started = performance.now();
      const error: unknown = await redis.get('key').catch((reason: unknown) => reason);
      expect([isUnavailable(error), String(error)]).toEqual([true, expect.any(String)]);
      expect(performance.now() - started).toBeLessThan(5_000);
    } finally {
      redis.disconnect();
    }
  },
);
