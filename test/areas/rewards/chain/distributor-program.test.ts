import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { payoutsStatus } from '#areas/payouts/reconciliation/status.ts';
import { getPayouts } from '#areas/payouts/routes/operations.ts';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { compose as composeClaim } from '#areas/rewards/claims/compose.ts';
import { buildOwnClaim } from '#areas/rewards/claims/own-transaction.ts';
import { distributorGauges } from '#areas/rewards/gauges.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';
import { programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import { reportDistributor } from '#platform/solana/distributor/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { insertComputedEpoch, openTokenAccount, type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { runUntil } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';

const AUTHORITY = createWallet().address;

let t: RewardsTest;
/** A claim of an open epoch. */
let claim: string;
/** Its wallet. */
let wallet: string;
const opened: App[] = [];
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  wallet = createWallet().address;
  await openTokenAccount(t, wallet);
  await insertComputedEpoch(t.app, 700, [[wallet, 10n]]);
  await insertComputedEpoch(t.app, 701, [[wallet, 10n]]);
  await runUntil(t.app, epochRoot, ['700'], ['finalized']);
  const rows = await sql<{ id: string }>(
    t.app,
    `insert into claims (epoch, index, wallet, amount, state, proof) values (700, 0, $1, 10, 'queued', '') returning id::text`,
    [wallet],
  );
  claim = rows[0]?.id ?? '';
});
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
});
afterAll(() => t?.close());

/** Opens another process, which has checked nothing yet. @returns the process, and its warnings */
async function openProcess(env: Record<string, string> = {}): Promise<{ app: App; warnings: unknown[] }> {
  const app = await openContext(readConfig({ ...t.env, ...env }), 'test');
  opened.push(app);
  const warnings: unknown[] = [];
  app.log.warn = (...args: unknown[]) => void warnings.push(args);
  return { app, warnings };
}

/** Changes the account with the bytes of the distributor. @param change changes the data of the account */
async function changeProgram(change: (data: Buffer) => void): Promise<void> {
  const address = programDataAddress(t.chain.keys.program.publicKey);
  const account = await t.chain.connection.getAccountInfo(address);
  if (!account) throw new Error('the program is not deployed');
  const data = Buffer.from(account.data);
  change(data);
  const next = { lamports: account.lamports, owner: UPGRADEABLE_LOADER.toBase58(), data: data.toString('base64') };
  await t.chain.control.setAccounts([{ address: address.toBase58(), account: next }]);
  await t.chain.control.advance(10);
}
const setAuthority = (key: Uint8Array | null) =>
  changeProgram((data) => {
    data[12] = key === null ? 0 : 1;
    data.set(key ?? new Uint8Array(32), 13);
  });
const gaugeOf = async (app: App) => (await distributorGauges.read(app)).map(({ value }) => value);

test('with a final program, epochs are opened whether UPGRADE_AUTHORITY is set or not', async () => {
  for (const env of [{}, { UPGRADE_AUTHORITY: 'none' }, { UPGRADE_AUTHORITY: AUTHORITY }] as const) {
    const { app } = await openProcess(env);
    expect((await payoutsStatus(app)).distributor).toBeNull();
    expect(await gaugeOf(app)).toEqual([0]);
    expect(await epochRoot.compose(app, '701')).toMatchObject({ do: 'sign' });
  }
});

test('with an unexpected upgrade authority, no epoch is opened, claims continue, and operators see the reason', async () => {
  await setAuthority(createWallet().publicKey);
  const problem = expect.stringMatching(/^the upgrade authority of the distributor program is \w{32,44}, but the program must be final/);
  const { app, warnings } = await openProcess();
  reportDistributor(app);
  expect(await epochRoot.compose(app, '701')).toEqual({ do: 'wait', ms: 30_000, reason: problem });
  expect(await composeClaim(app, claim)).toMatchObject({ do: 'sign' });
  expect((await payoutsStatus(app)).distributor).toEqual(problem);
  expect(await gaugeOf(app)).toEqual([1]);
  expect(warnings).toEqual([[{ program: t.chain.keys.program.publicKey.toBase58(), problem }, expect.stringContaining('no epoch is opened')]]);
  const other = await openProcess({ UPGRADE_AUTHORITY: AUTHORITY });
  expect(await epochRoot.compose(other.app, '701')).toMatchObject({
    do: 'wait',
    reason: expect.stringContaining(`but UPGRADE_AUTHORITY is ${AUTHORITY}`),
  });
  expect((await adminOf(t).ok(getPayouts)).body).toHaveProperty('distributor');
  await setAuthority(null);
});

test('with the configured upgrade authority, epochs are opened', async () => {
  const multisig = createWallet();
  await setAuthority(multisig.publicKey);
  const { app, warnings } = await openProcess({ UPGRADE_AUTHORITY: multisig.address });
  expect(await epochRoot.compose(app, '701')).toMatchObject({ do: 'sign' });
  expect((await payoutsStatus(app)).distributor).toBeNull();
  expect(warnings).toEqual([]);
  await setAuthority(null);
});

test('while the program has other bytes, claims wait too, because another program could take the SOL of the fee payer or of the wallet', async () => {
  const flip = (data: Buffer) => void data.writeUInt8(data.readUInt8(2_000) ^ 1, 2_000);
  await changeProgram(flip);
  await setAuthority(createWallet().publicKey);
  const { app } = await openProcess();
  expect(await composeClaim(app, claim)).toEqual({ do: 'wait', ms: 30_000, reason: 'the program on the chain differs from distributor.so' });
  await expect(buildOwnClaim(app, 700, wallet)).rejects.toMatchObject({
    status: 409,
    message: 'the program of epoch 700 on the chain is not the distributor of this service',
  });
  expect(await epochRoot.compose(app, '701')).toMatchObject({ do: 'wait', reason: 'the program on the chain differs from distributor.so' });
  expect(await gaugeOf(app)).toEqual([1]);
  // Nobody can have changed a final program since the epoch was opened, so it is the program of an earlier release.
  await setAuthority(null);
  const final = await openProcess();
  expect(await composeClaim(final.app, claim)).toMatchObject({ do: 'sign' });
  expect(await buildOwnClaim(final.app, 700, wallet)).toMatchObject({ amount: 10n });
  expect(await epochRoot.compose(final.app, '701')).toMatchObject({ do: 'wait' });
  await changeProgram(flip);
});

test('while the RPC node does not answer, /admin/payouts answers and says so', async () => {
  const { app } = await openProcess();
  await t.chain.control.fault({ kind: 'cut', methods: ['getMultipleAccounts'] });
  expect((await payoutsStatus(app)).distributor).toContain('the distributor program cannot be read: the RPC node does not answer');
  await t.chain.control.clear();
});
