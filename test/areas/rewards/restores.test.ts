import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { noteRestore, reconcileRoots } from '#areas/rewards/restores/reconcile.ts';
import { getChain, postAcceptKeys } from '#areas/rewards/restores/routes.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { expectToWait } from '#test/support/locks.ts';
import { meanwhile } from '#test/support/meanwhile.ts';
import { insertComputedEpoch, type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { runUntil } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';

// No workers run, so each test decides when a process compares the record with the database server, the keys and the chain.
let t: RewardsTest;
const opened: App[] = [];
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  await noteRestore(t.app);
});
beforeEach(async () => {
  await sql(t.app, 'update chain_record set keys = null, doubt = null, after_height = null, stop = null, other_keys = null');
  await sql(t.app, 'delete from chain_pauses');
  await noteRestore(t.app);
});
afterEach(async () => {
  await t.chain.control.resume();
  for (const app of opened.splice(0)) await app.close();
});
afterAll(() => t.close());

/** Opens another process. It has the settings of the test and the settings in `env`, except those that `without` names. */
async function openProcess(env: Readonly<Record<string, string>>, without: readonly string[] = []): Promise<App> {
  const own = Object.entries({ ...t.env, ...env }).filter(([name]) => !without.includes(name));
  const app = await openContext(readConfig(Object.fromEntries(own)), 'test');
  opened.push(app);
  return app;
}
/** Makes the database look as if it runs on a restored server. */
const restore = () => sql(t.app, 'update chain_record set timeline = timeline - 1');
const view = async () => (await adminOf(t).ok(getChain)).body;
const scopes = async () => (await sql<{ scope: string }>(t.app, 'select scope from chain_pauses order by scope')).map(({ scope }) => scope);
/** Finalizes so many blocks that nothing can land that was signed before. */
const passEarlier = () => t.chain.control.advance(400);
const RESTORED = 'the database was restored or failed over; roots are paused until the database explains every open epoch on the chain';

const today = () => Math.floor(t.clock.now().getTime() / 86_400_000);
async function openEpochs(...epochs: number[]): Promise<string[]> {
  const made = [];
  for (const epoch of epochs) made.push(await insertComputedEpoch(t.app, epoch, [[createWallet().address, 10n]]));
  await runUntil(t.app, epochRoot, epochs.map(String), ['finalized']);
  return made.map(({ root }) => root);
}
/** Forgets that epochs were opened, as a backup does that was made before. */
async function forget(...epochs: number[]): Promise<void> {
  await sql(t.app, 'delete from epoch_accounts where epoch = any($1)', [epochs]);
  await sql(t.app, `update epochs set state = 'computed', commit_signature = null, committed_at = null, expires_at = null where epoch = any($1)`, [
    epochs,
  ]);
}

test('after a restore, roots are paused until nothing that was signed earlier can land and the database explains the chain', async () => {
  await openEpochs(today() - 20);
  await t.chain.control.pause();
  await restore();
  await reconcileRoots(t.app);
  expect(await view()).toMatchObject({ doubt: RESTORED, afterHeight: expect.any(Number), stop: null, otherKeys: null, changed: [] });
  expect(await scopes()).toEqual(['roots']);
  await reconcileRoots(t.app);
  expect(await view()).toMatchObject({ doubt: RESTORED });
  await passEarlier();
  await reconcileRoots(t.app);
  expect(await view()).toMatchObject({ doubt: null, afterHeight: null });
  expect(await scopes()).toEqual([]);
});

test('of two processes that notice a restore at the same time, the second waits for the first', async () => {
  await restore();
  await expectToWait(t.app, 'lock_chain_record', noteRestore);
  expect(await view()).toMatchObject({ doubt: RESTORED, stop: null });
});

test('the result of a comparison with the chain is dropped when the record changed during the comparison', async () => {
  await restore();
  await reconcileRoots(t.app);
  await t.chain.control.pause();
  await passEarlier();
  const interrupted = meanwhile(t.app, 'select_epochs_to_explain', () => sql(t.app, `update chain_record set doubt = 'a later restore'`));
  await reconcileRoots(interrupted);
  expect(await view()).toMatchObject({ doubt: 'a later restore' });
  expect(await scopes()).toEqual(['roots']);
});

test('keys that are rotated without a restore are recorded, and nothing is stopped', async () => {
  const treasury = newSigner();
  const address = treasury.publicKey.toBase58();
  const rotated = await openProcess({ TREASURY_KEY: JSON.stringify([...treasury.secretKey]), TREASURY_ADDRESS: address });
  await noteRestore(rotated);
  expect(await view()).toMatchObject({ keys: { treasury: address }, stop: null, doubt: null, changed: [] });
  expect(await scopes()).toEqual([]);
});

test('after a restore, a process that lacks a key stops nothing, and the recorded key stays', async () => {
  await restore();
  const without = await openProcess({}, ['TREASURY_KEY']);
  await noteRestore(without);
  expect(await view()).toMatchObject({ keys: { treasury: t.chain.keys.treasury.publicKey.toBase58() }, stop: null, doubt: RESTORED, changed: [] });
});

test('after a restore together with another key, nothing is signed and the chain is not compared until an operator names the key', async () => {
  const treasury = newSigner();
  const address = treasury.publicKey.toBase58();
  const recorded = t.chain.keys.treasury.publicKey.toBase58();
  const other = await openProcess({ TREASURY_KEY: JSON.stringify([...treasury.secretKey]), TREASURY_ADDRESS: address });
  await restore();
  await reconcileRoots(other);
  await reconcileRoots(other);
  expect(await view()).toMatchObject({
    stop: expect.stringContaining(`TREASURY_KEY is ${address}, but ${recorded} in the database`),
    doubt: RESTORED,
    afterHeight: null,
    changed: ['treasury'],
    keys: { treasury: recorded },
    otherKeys: { treasury: address },
  });
  expect(await scopes()).toEqual(['everything', 'roots']);
  expect(await adminOf(t).call(postAcceptKeys, { body: { changed: ['committer'] } })).toMatchObject({
    status: 409,
    body: { error: 'changed must list: treasury' },
  });
  const accepted = await adminOf(t).ok(postAcceptKeys, { body: { changed: ['treasury'] } });
  expect(accepted.body).toMatchObject({ stop: null, keys: { treasury: address }, otherKeys: null, changed: [] });
  expect(await scopes()).toEqual(['roots']);
});

test('a process without a distributor program compares nothing with the chain', async () => {
  await restore();
  await reconcileRoots(await openProcess({}, ['DISTRIBUTOR_PROGRAM_ID']));
  expect(await view()).toMatchObject({ doubt: RESTORED, afterHeight: null });
});

test('after a restore, open epochs of the last 400 days that the database lacks, or has with another root, are named and keep roots paused', async () => {
  const [tooOld, missing, other, same] = [today() - 401, today() - 400, today() - 30, today() - 29] as const;
  const [, ofMissing, ofOther] = await openEpochs(tooOld, missing, other, same);
  await forget(tooOld, missing, other, same);
  await sql(t.app, 'delete from epochs where epoch = any($1)', [[tooOld, missing]]);
  await sql(t.app, 'update epochs set root = $2 where epoch = $1', [other, Buffer.alloc(32, 7)]);
  await restore();
  await reconcileRoots(t.app);
  await t.chain.control.pause();
  await passEarlier();
  await reconcileRoots(t.app);
  const open = (epoch: number, root: string | undefined) => `epoch ${epoch} is open on the chain with the root ${root}`;
  expect((await view()).doubt).toBe(
    `${open(missing, ofMissing)}, but is not in the database; ${open(other, ofOther)}, but has another root in the database`,
  );
  expect(await scopes()).toEqual(['roots']);
});
