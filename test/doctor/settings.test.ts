import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inspectConfig, readConfig, SETTING_NAMES } from '#config';
import { openContext } from '#context';
import { keys } from '#doctor/checks/keys.ts';
import { queues } from '#doctor/checks/process.ts';
import { publicUrl } from '#doctor/checks/public-url.ts';
import { secrets, webhooks } from '#doctor/checks/secrets.ts';
import { examine, type Result } from '#doctor/examine.ts';
import { findMistyped } from '#doctor/mistyped.ts';
import { openLog } from '#platform/observability/log.ts';
import { newSigner, type Signer } from '#platform/solana/primitives.ts';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { PRODUCTION } from '#test/support/production.ts';
import { PLANTED, WRONG_SETTINGS } from './wrong-settings.ts';

const [feePayer, epochAuthority, treasury, committer] = [newSigner(), newSigner(), newSigner(), newSigner()];
const secretOf = (signer: Signer) => JSON.stringify([...signer.secretKey]);

let database: { url: string; drop(): Promise<void> };
let valid: Record<string, string>;
beforeAll(async () => {
  database = await createDatabase();
  valid = {
    ...PRODUCTION,
    DATABASE_URL: database.url,
    REDIS_URL: testRedisUrl(),
    SESSION_KEYS: 'c60e8ca2ff5b44a2b0a5b8f4b1a5e6d9',
    RECEIPT_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64'),
    ADMIN_TOKENS: '0a3d1e9c5b7f46f8a2c4e6081b3d5f79',
    FEE_PAYER_KEY: secretOf(feePayer),
    EPOCH_AUTHORITY_KEY: secretOf(epochAuthority),
    TREASURY_KEY: secretOf(treasury),
    COMMITTER_KEY: secretOf(committer),
    TREASURY_ADDRESS: treasury.publicKey.toBase58(),
    COMMITTER_ADDRESS: committer.publicKey.toBase58(),
  };
});
afterAll(() => database.drop());

/** Runs the checks that need no dependency, as bin/doctor does. */
async function examineSettings(env: Record<string, string>, process: 'api' | 'worker' = 'worker'): Promise<Result[]> {
  const { config, problems } = inspectConfig(env);
  const app = await openContext(config, 'test-doctor', { log: openLog({ ...config, logLevel: 'silent' }, 'test-doctor') });
  try {
    return await examine(app, process, { problems, checks: [publicUrl, secrets, webhooks, queues, keys] });
  } finally {
    await app.close();
  }
}
const withState = (results: readonly Result[], state: string) =>
  results.filter((one) => one.state === state).map(({ check, what }) => `${check}: ${what}`);

test('settings for production without a mistake have no finding that is wrong', async () => {
  const results = await examineSettings(valid);
  expect([...withState(results, 'wrong'), ...withState(results, 'warning')]).toEqual([]);
});

test('the table of wrong settings has a row for every setting, and no other row', () => {
  expect(Object.keys(WRONG_SETTINGS).sort()).toEqual([...SETTING_NAMES].sort());
});

test.each(Object.entries(WRONG_SETTINGS))('a wrong %s is named, without its secret', async (name, { value, check = 'settings' }) => {
  const env = { ...valid, [name]: value };
  const { problems } = inspectConfig(env);
  // Only some settings need the checks, which take longer.
  const results: readonly Pick<Result, 'check' | 'state' | 'what'>[] =
    check === 'settings' ? problems.map((what) => ({ check: 'settings', state: 'wrong', what })) : await examineSettings(env);
  const wrong = results.filter(({ state }) => state === 'wrong');
  expect(wrong.map((one) => one.check)).toContain(check);
  expect(wrong.some(({ what }) => new RegExp(`\\b${name}\\b`).test(what))).toBe(true);
  expect(JSON.stringify(results)).not.toContain(PLANTED);
  if (check === 'settings') expect(() => readConfig(env)).toThrow(name);
});

test('a variable whose name is almost the name of a setting is found, and others are not', () => {
  const found = findMistyped(
    ['TREASURY_ADRESS', 'USDC_MINTS', 'REDIS_URL', 'POSTGRES_PASSWORD', 'HOME', 'HTTPS_PORT', 'SESSION_KEYS'],
    SETTING_NAMES,
  );
  expect(found.map(({ state, what, remedy }) => `${state}: ${what}. ${remedy}`)).toEqual([
    'warning: TREASURY_ADRESS is set, but is not a setting. Rename it if you mean TREASURY_ADDRESS.',
    'warning: USDC_MINTS is set, but is not a setting. Rename it if you mean USDC_MINT.',
  ]);
});

test('all wrong settings are named together', () => {
  // Without NODE_ENV=production, the rules for production do not apply.
  const { NODE_ENV: _development, ...rows } = WRONG_SETTINGS;
  const detected = Object.entries(rows).filter(([, row]) => row.check === undefined);
  const { problems } = inspectConfig({ ...valid, ...Object.fromEntries(detected.map(([name, { value }]) => [name, value])) });
  const unnamed = detected.map(([name]) => name).filter((name) => !problems.some((problem) => new RegExp(`\\b${name}\\b`).test(problem)));
  expect(unnamed).toEqual([]);
  expect(problems.join()).not.toContain(PLANTED);
});

test.each(['SOLANA_RPC_URL', 'DISTRIBUTOR_PROGRAM_ID', 'REWARD_MINT', 'USDC_MINT', 'PUBLIC_URL', 'SESSION_KEYS', 'RECEIPT_KEY', 'MEDIA_FOLDER'])(
  'production does not start without %s',
  (name) => {
    const { [name]: _missing, ...env } = valid;
    expect(() => readConfig(env)).toThrow(name);
    expect(() => readConfig({ ...env, NODE_ENV: 'development' })).not.toThrow();
  },
);

test.each<[string, Record<string, string>, string]>([
  ['a guessable session key', { SESSION_KEYS: 'k'.repeat(40) }, 'SESSION_KEYS'],
  ['a guessable token', { ADMIN_TOKENS: `ops:money:${'ab'.repeat(20)}` }, 'the token ops'],
  ['a guessable webhook secret', { WEBHOOK_SECRET_CHAT_BRIDGE: `whsec_${Buffer.alloc(32, 1).toString('base64')}` }, 'WEBHOOK_SECRET_CHAT_BRIDGE'],
  ['an orchestrator without a secret', { USDC_PAYER: 'orchestrator' }, 'WEBHOOK_SECRET_PAYMENT_STATUS is missing'],
  ['a local host name', { PUBLIC_URL: 'https://localhost:8443' }, 'PUBLIC_URL names the host localhost'],
  ['a private address', { PUBLIC_URL: 'https://192.168.0.7' }, 'PUBLIC_URL names the host 192.168.0.7'],
  ['credentials in the address', { PUBLIC_URL: `https://me:${PLANTED}@coinop.example` }, 'PUBLIC_URL has credentials'],
])('%s is wrong in production', async (_case, changed, sentence) => {
  const results = await examineSettings({ ...valid, ...changed });
  expect(withState(results, 'wrong')).toEqual([expect.stringContaining(sentence)]);
  expect(JSON.stringify(results)).not.toContain(PLANTED);
});

test('a worker needs the keys of the queues that it serves, and no other', async () => {
  const { FEE_PAYER_KEY: _payer, EPOCH_AUTHORITY_KEY: _authority, ...env } = valid;
  const wrongOf = async (changed: Record<string, string>) => withState(await examineSettings({ ...env, ...changed }), 'wrong');
  expect(await wrongOf({ QUEUES: 'scores,points' })).toEqual([]);
  expect(await wrongOf({ QUEUES: 'sign-claims' })).toEqual([expect.stringContaining('FEE_PAYER_KEY is missing')]);
  expect(await wrongOf({})).toEqual([expect.stringContaining('FEE_PAYER_KEY is missing'), expect.stringContaining('EPOCH_AUTHORITY_KEY is missing')]);
});

test('roles with the same key are found, and a shared treasury is wrong', async () => {
  const committerKey = { COMMITTER_KEY: secretOf(feePayer), COMMITTER_ADDRESS: feePayer.publicKey.toBase58() };
  const shared = await examineSettings({ ...valid, ...committerKey, EPOCH_AUTHORITY_KEY: secretOf(treasury) });
  expect(withState(shared, 'wrong')).toEqual([expect.stringContaining('EPOCH_AUTHORITY_KEY and TREASURY_KEY are the same key')]);
  expect(withState(shared, 'warning')).toEqual([expect.stringContaining('FEE_PAYER_KEY and COMMITTER_KEY are the same key')]);
});

test('an API process that has signing keys gets a warning for each', async () => {
  const results = await examineSettings(valid, 'api');
  expect(withState(results, 'wrong')).toEqual([]);
  expect(withState(results, 'warning')).toHaveLength(4);
});
