import { expect, test } from '@jest/globals';
import { inspectConfig } from '#config';
import { KnownServer, serverUrls } from '#platform/db/servers.ts';

test('a PostgreSQL URL names one server or several, with the same role, database and parameters', () => {
  expect(serverUrls('postgresql://one/db')).toEqual(['postgresql://one/db']);
  expect(serverUrls('postgresql://user:p,w@one:5432,two:5433/db?sslmode=require')).toEqual([
    'postgresql://user:p,w@one:5432/db?sslmode=require',
    'postgresql://user:p,w@two:5433/db?sslmode=require',
  ]);
  expect(serverUrls('postgresql://user@%2Frun%2Fa:5432,%2Frun%2Fb:5432/db')).toEqual([
    'postgresql://user@%2Frun%2Fa:5432/db',
    'postgresql://user@%2Frun%2Fb:5432/db',
  ]);
  expect(serverUrls('postgresql://one,two')).toEqual(['postgresql://one', 'postgresql://two']);
});

test.each(['postgresql://one,/db', 'postgresql://,two/db', 'postgresql://u:p@one,,two/db', 'postgresql://one:5432,:5432/db', 'postgresql://one,'])(
  'DATABASE_URL %s is refused, because the driver would connect to this machine',
  (url) => {
    expect(inspectConfig({ DATABASE_URL: url }).problems).toEqual(['DATABASE_URL must name a host before and after each comma']);
  },
);

test('after another server is found, a connection to the earlier server is not used', async () => {
  const found = ['old', 'new'];
  const server = new KnownServer(async () => found.shift() ?? '');
  expect(await server.url()).toBe('old');
  expect(server.isLatest('old')).toBe(true);
  server.forget();
  expect(await server.url()).toBe('new');
  expect(server.isLatest('old')).toBe(false);
});
