import { expect, test } from '@jest/globals';
import { readConfig } from '#config';

const read = (env: Record<string, string>) => readConfig({ NODE_ENV: 'test', ...env });
const TOKEN = 'a-token-of-thirty-characters-1';
const OTHER = 'a-token-of-thirty-characters-2';

test('admin and internal tokens have the same form: a token, or name, scopes, an optional last day, and token', () => {
  const { adminTokens, internalTokens } = read({
    ADMIN_TOKENS: `${TOKEN},ada:money+content:2027-01-31:with:colons:${OTHER}`,
    INTERNAL_TOKENS: `bare-${TOKEN},importer:import:2027-02-28:${OTHER}`,
  });
  expect(adminTokens).toEqual([
    { name: 'admin-1', token: TOKEN, scopes: ['money', 'rounds', 'moderation', 'content'], expiresAt: null },
    { name: 'ada', token: `with:colons:${OTHER}`, scopes: ['money', 'content'], expiresAt: Date.parse('2027-02-01') },
  ]);
  expect(internalTokens).toEqual([
    { name: 'internal-1', token: `bare-${TOKEN}`, scopes: ['import'], expiresAt: null },
    { name: 'importer', token: OTHER, scopes: ['import'], expiresAt: Date.parse('2027-03-01') },
  ]);
});

test.each([
  [{ INTERNAL_TOKENS: 'short' }, 'INTERNAL_TOKENS: the token of internal-1 is shorter than 16 characters'],
  [{ ADMIN_TOKENS: `sess_${TOKEN}` }, 'ADMIN_TOKENS: the token of admin-1 must not begin with sess_'],
  [{ INTERNAL_TOKENS: `x:import:sess_${TOKEN}` }, 'INTERNAL_TOKENS: the token of x must not begin with sess_'],
  [{ INTERNAL_TOKENS: `x:money:${TOKEN}` }, 'INTERNAL_TOKENS: the scopes of x must be of: import'],
  [{ ADMIN_TOKENS: `x:money:2027-02-30:${TOKEN}` }, 'ADMIN_TOKENS: 2027-02-30 is not a day'],
  [{ ADMIN_TOKENS: TOKEN, INTERNAL_TOKENS: TOKEN }, 'each token must have its own name and secret, but internal-1 repeats one'],
  [{ ADMIN_TOKENS: `x:money:${TOKEN},x:money:${OTHER}` }, 'each token must have its own name and secret, but x repeats one'],
  [{ APPROVALS: 'payout:5' }, 'APPROVALS: each entry must be import, grant, limit'],
  [{ APPROVALS: 'grant:5', ADMIN_TOKENS: `${TOKEN},x:content:${OTHER}` }, 'APPROVALS: ADMIN_TOKENS must have two tokens with the scope money'],
])('the settings %j are refused', (env, message) => {
  expect(() => read(env as Record<string, string>)).toThrow(message);
});

test('a refused setting does not show the token', () => {
  expect(() => read({ ADMIN_TOKENS: `x:wrong:${TOKEN}` })).toThrow(expect.objectContaining({ message: expect.not.stringContaining(TOKEN) }));
});
