import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inspectConfig } from '#config';
import { openContext } from '#context';
import { keys } from '#doctor/checks/keys.ts';
import { examine } from '#doctor/examine.ts';
import { openLog } from '#platform/observability/log.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { CHECK_MESSAGE, PREFIX_OF, ROLES, type Role } from '#platform/solana/signers/index.ts';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { type SignerReply, type SignerServer, startSignerServer, TOKEN } from '#test/support/solana/signers.ts';

const signers = { feePayer: newSigner(), epochAuthority: newSigner(), treasury: newSigner(), committer: newSigner() };
const stranger = newSigner();
const servers = new Map<Role, SignerServer>();
let database: { url: string; drop(): Promise<void> };
let valid: Record<string, string>;
beforeAll(async () => {
  database = await createDatabase();
  valid = { NODE_ENV: 'test', DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), DISTRIBUTOR_PROGRAM_ID: stranger.publicKey.toBase58() };
  for (const role of ROLES) {
    const server = await startSignerServer(signers[role], stranger);
    servers.set(role, server);
    const prefix = PREFIX_OF[role];
    valid[`${prefix}_ADDRESS`] = signers[role].publicKey.toBase58();
    valid[`${prefix}_SIGNER`] = `${server.url}?key=${TOKEN}-of-the-url`;
    valid[`${prefix}_SIGNER_TOKEN`] = TOKEN;
  }
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.close()));
  await database.drop();
});

/** Runs the check of the keys, as bin/doctor does. */
async function examineKeys(changed: Record<string, string> = {}, process: 'api' | 'worker' = 'worker') {
  const { config, problems } = inspectConfig({ ...valid, ...changed });
  const app = await openContext(config, 'test-doctor', { log: openLog({ ...config, logLevel: 'silent' }, 'test-doctor') });
  try {
    const results = await examine(app, process, { problems, checks: [keys] });
    expect(JSON.stringify(results)).not.toContain(TOKEN);
    return results.filter(({ check }) => check === 'keys').map(({ state, what }) => `${state}: ${what}`);
  } finally {
    await app.close();
  }
}
const requestsTo = (role: Role) => servers.get(role)?.requests ?? [];

test('each signer is asked once to sign the check message', async () => {
  expect(await examineKeys()).toEqual(['ok: the worker has the keys that it needs, and they differ']);
  for (const role of ROLES) {
    expect(requestsTo(role)).toEqual([
      { version: 1, role, address: signers[role].publicKey.toBase58(), message: Buffer.from(CHECK_MESSAGE).toString('base64') },
    ]);
  }
});

test.each<[SignerReply, string]>([
  ['refuses', 'status 403'],
  ['garbage', 'the answer must be'],
  ['other-key', `the signature is not a signature of ${signers.treasury.publicKey.toBase58()}`],
  ['hangs', 'no answer within 5 s'],
])(
  'a signer that answers wrongly (%s) is named with the reason',
  async (reply, reason) => {
    servers.get('treasury')?.setReply(reply);
    expect(await examineKeys()).toEqual([expect.stringMatching(new RegExp(`^wrong: TREASURY_SIGNER cannot be used: .*${reason}`))]);
    servers.get('treasury')?.setReply('signs');
  },
  20_000,
);

test('an address that is not that of the signer is named', async () => {
  const found = await examineKeys({ COMMITTER_ADDRESS: stranger.publicKey.toBase58() });
  expect(found).toEqual([expect.stringContaining('wrong: COMMITTER_SIGNER cannot be used: ')]);
});

test('two roles with the same address are found', async () => {
  const same = { COMMITTER_ADDRESS: valid.TREASURY_ADDRESS ?? '', COMMITTER_SIGNER: valid.TREASURY_SIGNER ?? '' };
  expect(await examineKeys(same)).toEqual(['wrong: TREASURY_SIGNER and COMMITTER_SIGNER are the same key']);
});

test('an API process with a signer gets a warning for each, and asks none', async () => {
  const before = requestsTo('treasury').length;
  expect(await examineKeys({}, 'api')).toEqual(ROLES.map((role) => `warning: ${PREFIX_OF[role]}_SIGNER is set, but API processes do not sign`));
  expect(requestsTo('treasury')).toHaveLength(before);
});
